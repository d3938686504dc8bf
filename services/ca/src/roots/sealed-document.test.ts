/** Replicas that share nothing but the bus and the key have one root; the bus has no key of the mesh. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus, createPublisher, createSeal } from "@flotilla/bus";
import { parseCertificatePem, rootId } from "@flotilla/pki";
import { noopLogger } from "@flotilla/runtime";
import { startCa } from "../main.fixture.ts";
import { askAs } from "../raw-request.fixture.ts";
import { documentStore } from "./document-store.ts";
import { rootsBucket, sealedDocument } from "./sealed-document.ts";

const directory = await mkdtemp(join(tmpdir(), "ca-sealed-"));
const busUrl = `embedded:${directory}`;
const stop = new AbortController();
const bus = await connectBus({ url: busUrl, clientName: "test", log: noopLogger }, stop.signal);
const options = { keyType: "ecdsa-p256", ttlMs: 3_600_000, trustDomain: "td" } as const;
const nowMs = Date.now();
let copies = 0;
/** Of a replica with a work directory of its own, or of one that has started again. */
const copyIn = (file = join(directory, `copy-${copies++}`)) => ({ file, log: noopLogger });
after(async () => {
  await bus[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

describe("a self-signed root on the bus", () => {
  it("is one, whichever replica is first; the next one comes into use by one write", async () => {
    const seal = createSeal("a key");
    const [a, b] = [0, 1].map(() => documentStore(sealedDocument(() => bus.keyValue("roots-a"), seal, copyIn())));
    assert.ok(a !== undefined && b !== undefined);
    const [first, same] = await Promise.all([a.open(options, nowMs), b.open(options, nowMs)]);
    assert.deepEqual(first, same);
    const renewed = await Promise.all([a, b].map((store) => store.renew(options, 20, nowMs + 3_500_000)));
    assert.equal(renewed[0]?.keyPem, first.keyPem);
    assert.notEqual(renewed[0]?.certificatePem, first.certificatePem);
    assert.deepEqual(renewed[0], renewed[1]);
    const [next, again] = await Promise.all([a.makeNext(options, nowMs), b.makeNext(options, nowMs)]);
    assert.deepEqual(next, again);
    await Promise.all([a.promote(), b.promote()]);
    assert.deepEqual([await b.open(options, nowMs), await a.next(options, nowMs)], [next, undefined]);
  });

  it("stays when the next one is dropped, and a next one of another name is not dropped", async () => {
    const store = documentStore(sealedDocument(() => bus.keyValue("roots-e"), createSeal("a key"), copyIn()));
    const first = await store.open(options, nowMs);
    const next = await store.makeNext(options, nowMs);
    await store.dropNext("of another root");
    assert.deepEqual(await store.next(options, nowMs), next);
    await store.dropNext(rootId(parseCertificatePem(next.certificatePem)));
    assert.deepEqual([await store.next(options, nowMs), await store.open(options, nowMs)], [undefined, first]);
  });

  it("with another key nothing is read, and nothing is made in its place", async () => {
    const values = () => bus.keyValue("roots-b");
    const first = await documentStore(sealedDocument(values, createSeal("right"), copyIn())).open(options, nowMs);
    const other = documentStore(sealedDocument(values, createSeal("wrong"), copyIn()));
    await assert.rejects(other.open(options, nowMs), /does not open with the key in SEAL_KEY_FILE/);
    assert.deepEqual(
      await documentStore(sealedDocument(values, createSeal("right"), copyIn())).open(options, nowMs),
      first,
    );
  });

  it("that was lost, or came back older, is written again from the copy of a replica that has started since", async () => {
    const seal = createSeal("a key");
    const values = () => bus.keyValue("roots-c");
    const { file } = copyIn();
    const started = () => documentStore(sealedDocument(values, seal, copyIn(file)));
    const first = await started().open(options, nowMs);
    const bucket = await values();
    const older = (await bucket.get("self-signed"))?.value ?? assert.fail("no root was stored");
    await bucket.delete("self-signed");
    assert.deepEqual(await started().open(options, nowMs), first);
    const next = await started().makeNext(options, nowMs);
    await started().promote();
    // The disk of NATS is put back: the root that was given up stands there again.
    await bucket.put("self-signed", older);
    assert.deepEqual(await started().open(options, nowMs), next);
    assert.deepEqual(await documentStore(sealedDocument(values, seal, copyIn())).open(options, nowMs), next);
    assert.doesNotMatch(await readFile(file, "latin1"), /PRIVATE|BEGIN|ca-key/);
  });

  it("with a copy that does not open, the bus counts", async () => {
    const values = () => bus.keyValue("roots-d");
    const { file } = copyIn();
    const first = await documentStore(sealedDocument(values, createSeal("a key"), copyIn(file))).open(options, nowMs);
    await writeFile(file, "torn");
    assert.deepEqual(
      await documentStore(sealedDocument(values, createSeal("a key"), copyIn(file))).open(options, nowMs),
      first,
    );
  });

  it("that a faster replica has written stays the copy's, whatever was to be written in its place", async () => {
    const values = () => bus.keyValue("roots-e");
    const document = sealedDocument(values, createSeal("a key"), copyIn());
    const [faster, slower] = [await document.read(), await document.read()];
    assert.deepEqual([await faster.write({ root: "first" }), await slower.write({ root: "second" })], [true, false]);
    await (await values()).delete("self-signed");
    assert.equal((await document.read()).data["root"], "first");
  });

  it("two ca without a shared disk sign under one root, which rests sealed", { timeout: 60_000 }, async () => {
    const sealKeyFile = join(directory, "seal.key");
    await writeFile(sealKeyFile, "0123456789abcdef0123456789abcdef");
    const env = { BUS_URL: busUrl, SEAL_KEY_FILE: sealKeyFile, CA_SELF_SIGNED_STORE: "bus" };
    // A ca waits some seconds for the mesh: an unconfigured one is known at once.
    const seal = createSeal(await readFile(sealKeyFile));
    await using authentic = await connectBus({ url: busUrl, clientName: "test", seal, log: noopLogger }, stop.signal);
    const controller = { bus: authentic, publisher: "config-controller", seal, log: noopLogger, nowMs: Date.now };
    await createPublisher(controller).synchronize([]);
    await using first = await startCa(env);
    await using second = await startCa(env);
    assert.equal(second.rootsPem, first.rootsPem);
    assert.notEqual(second.workDir, first.workDir);
    for (const ca of [first, second]) {
      const { code, chain } = await askAs(ca, { token: await ca.mint("shop", "web") });
      assert.deepEqual([code, chain.at(-1)], [0, first.rootsPem]);
    }
    const entries = await (await bus.keyValue(rootsBucket)).entries();
    assert.equal(entries.length, 1);
    const text = Buffer.concat(entries.map(({ value }) => value ?? Buffer.alloc(0))).toString("latin1");
    assert.doesNotMatch(text, /PRIVATE|BEGIN|ca-key/);
  });

  it("needs the bus and the key", async () => {
    await assert.rejects(startCa({ CA_SELF_SIGNED_STORE: "bus" }), /needs BUS_URL and SEAL_KEY_FILE/);
  });
});
