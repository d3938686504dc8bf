/** Rotations of running replicas of ca that share a directory and a bus, with workloads that renew or do not. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { requestCertificate, type TlsMaterial } from "@flotilla/auth/serving";
import { connectBus } from "@flotilla/bus";
import {
  certificatePem,
  generatePrivateKey,
  issueRoot,
  parseCertificatesPem,
  privateKeyPem,
  rootId,
  verifyChain,
} from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { type RunningCa, serverName, startCa } from "../main.fixture.ts";

let workDir = "";
let running: RunningCa[] = [];
let bus: AsyncDisposable;
let busUrl = "";

beforeEach(async () => {
  workDir = await mkdtemp(join(tmpdir(), "ca-rotation-"));
  await mkdir(join(workDir, "ca"));
  // The mesh is known from an earlier life: no config-controller is waited for.
  await writeFile(join(workDir, "ca", "mesh.json"), "{}");
  busUrl = `embedded:${randomUUID()}`;
  bus = await connectBus({ url: busUrl, clientName: "test", log: noopLogger }, AbortSignal.timeout(60_000));
});
afterEach(async () => {
  for (const ca of running) await ca[Symbol.asyncDispose]();
  running = [];
  await bus[Symbol.asyncDispose]();
  await rm(workDir, { recursive: true });
});

async function start(more: Readonly<Record<string, string>> = {}): Promise<RunningCa> {
  const env = { BUS_URL: busUrl, CA_ROTATION_SETTLE: "300ms", CA_ROTATION_CHECK_INTERVAL: "50ms", ...more };
  const ca = await startCa({ ROOT_CA_NEXT_DIR: join(workDir, "next"), ...env }, { workDir });
  running.push(ca);
  return ca;
}

interface Status {
  readonly phase: string;
  readonly holdups: readonly { readonly name: string; readonly reason: string }[];
  readonly last?: { readonly outcome: string };
  readonly error?: string;
}

async function look(ca: RunningCa, query = ""): Promise<Status> {
  const url = `http://127.0.0.1:${ca.health}/debug/rotation${query}`;
  return (await (await fetch(url, { method: query === "" ? "GET" : "POST" })).json()) as Status;
}
const rotate = (ca: RunningCa, more = "") => look(ca, `?action=rotate${more}`);
const inPhase = (ca: RunningCa, phase: string) =>
  until(async () => (await look(ca)).phase === phase, { withinMs: 30_000, what: phase, everyMs: 20 });

async function certificate(ca: RunningCa, name: string, ttlMs = 3_600_000): Promise<TlsMaterial> {
  return requestCertificate({
    address: `127.0.0.1:${ca.grpc}`,
    serverName,
    rootsPem: await readFile(join(workDir, "root-cert.pem"), "utf8"),
    proof: { token: await ca.mint("shop", name) },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs,
    instance: name,
  });
}

/** By that one alone. */
function heldUpBy(ca: RunningCa, account: string): Promise<Status> {
  const name = `spiffe://cluster.local/ns/shop/sa/${account}@instance/${account}`;
  const isAlone = ({ holdups }: Status) => holdups.length === 1 && holdups[0]?.name === name;
  return until(() => look(ca).then((status) => isAlone(status) && status), {
    withinMs: 30_000,
    what: `${account} alone`,
  });
}

/** The root that a certificate leads to, and those that came with it. */
function rootsOf({ chainPem, rootsPem }: TlsMaterial) {
  const [leaf, ...intermediates] = parseCertificatesPem(chainPem);
  const roots = parseCertificatesPem(rootsPem);
  const path = verifyChain({ leaf: leaf ?? assert.fail(), intermediates, roots, nowMs: Date.now() });
  return { issuer: rootId(path.at(-1) ?? assert.fail()), trusted: roots.map(rootId) };
}

describe("rotation of the root", () => {
  it("waits for each holder to trust and to renew, names who does not, and ends with the new root alone", async () => {
    const ca = await start();
    const old = rootsOf(await certificate(ca, "web"));
    await certificate(ca, "api");
    assert.equal((await rotate(ca)).phase, "trusting");
    const both = rootsOf(await certificate(ca, "web"));
    assert.equal(both.issuer, old.issuer);
    assert.equal(both.trusted.length, 2);
    // "api" is away: nothing goes on for longer than the time to settle, and it is named.
    await new Promise((resolve) => setTimeout(resolve, 700));
    const held = await heldUpBy(ca, "api");
    assert.equal(held.phase, "trusting");
    assert.match(held.holdups[0]?.reason ?? "", /has not taken the new root; it renews when its root-cert.pem changes/);
    await certificate(ca, "api");
    await inPhase(ca, "issuing");
    const web = rootsOf(await certificate(ca, "web"));
    assert.notEqual(web.issuer, old.issuer);
    assert.deepEqual(new Set(web.trusted), new Set(both.trusted));
    assert.equal((await heldUpBy(ca, "api")).phase, "issuing");
    await certificate(ca, "api");
    await inPhase(ca, "idle");
    assert.equal((await look(ca)).last?.outcome, "rotated");
    const after = rootsOf(await certificate(ca, "web"));
    assert.deepEqual(after, { issuer: web.issuer, trusted: [web.issuer] });
  });

  it("goes on without those that the operator names", async () => {
    const ca = await start();
    await certificate(ca, "gone");
    await rotate(ca);
    const [holdup] = (await look(ca)).holdups;
    await rotate(ca, `&without=${encodeURIComponent(holdup?.name ?? "")}`);
    await inPhase(ca, "idle");
  });

  it("refuses to go on without what holds nothing up, and lists what does", async () => {
    const ca = await start();
    await certificate(ca, "gone");
    const { error = "" } = await rotate(ca, "&without=web.shop");
    assert.match(error, /nothing that holds the rotation up is called web.shop: .*sa\/gone@instance\/gone/);
    assert.equal((await look(ca)).phase, "idle");
    // It names an instance, so it is a service: those are not left behind together with proxies that are away.
    assert.equal((await rotate(ca, "&without=disconnected")).phase, "trusting");
    await heldUpBy(ca, "gone");
    await rotate(ca, "&without=spiffe://cluster.local/ns/shop/sa/gone");
    await inPhase(ca, "idle");
  });

  it("issues short certificates until the new root signs", async () => {
    const ca = await start({ CA_ROTATION_CERTIFICATE_TTL: "20s" });
    const lifeMs = ({ chainPem }: TlsMaterial) => (parseCertificatesPem(chainPem)[0]?.notAfterMs ?? 0) - Date.now();
    assert.ok(lifeMs(await certificate(ca, "web")) > 3_000_000);
    await certificate(ca, "api");
    await rotate(ca);
    assert.ok(lifeMs(await certificate(ca, "web")) <= 20_000);
    await rotate(ca, "&without=spiffe://cluster.local/ns/shop/sa/api");
    await inPhase(ca, "issuing");
    assert.ok(lifeMs(await certificate(ca, "web")) > 3_000_000);
  });

  it("survives a restart in every phase, with two replicas that sign alike", async () => {
    const [a, b] = [await start(), await start({ CA_PORT: String(await freePort()) })];
    const old = rootsOf(await certificate(a, "web"));
    assert.deepEqual(rootsOf(await certificate(b, "other")), old);
    await rotate(a);
    await until(async () => rootsOf(await certificate(b, "web")).trusted.length === 2, { withinMs: 30_000, what: "b" });
    for (const ca of running.splice(0)) await ca[Symbol.asyncDispose]();
    const c = await start();
    assert.equal((await look(c)).phase, "trusting");
    assert.equal(rootsOf(await certificate(c, "web")).trusted.length, 2);
    await certificate(c, "other");
    await inPhase(c, "issuing");
    for (const ca of running.splice(0)) await ca[Symbol.asyncDispose]();
    const d = await start();
    const fresh = rootsOf(await certificate(d, "web"));
    assert.notEqual(fresh.issuer, old.issuer);
    await certificate(d, "other");
    await inPhase(d, "idle");
    for (const ca of running.splice(0)) await ca[Symbol.asyncDispose]();
    const e = await start();
    assert.deepEqual(rootsOf(await certificate(e, "web")), { issuer: fresh.issuer, trusted: [fresh.issuer] });
  });

  it("is aborted: at once while only trust was added, else when no new certificate is left", async () => {
    const ca = await start();
    const old = rootsOf(await certificate(ca, "web"));
    await rotate(ca);
    assert.equal((await look(ca, "?action=abort")).phase, "idle");
    assert.deepEqual(rootsOf(await certificate(ca, "web")), old);
    await rotate(ca);
    await certificate(ca, "web");
    await inPhase(ca, "issuing");
    await certificate(ca, "web");
    assert.equal((await look(ca, "?action=abort")).phase, "reverting");
    await until(async () => (await look(ca)).holdups.some(({ name }) => /web/.test(name)), {
      withinMs: 30_000,
      what: "web",
    });
    const back = rootsOf(await certificate(ca, "web"));
    assert.equal(back.issuer, old.issuer);
    await inPhase(ca, "idle");
    assert.deepEqual(rootsOf(await certificate(ca, "web")), old);
    assert.match((await look(ca, "?action=abort")).error ?? "", /no rotation/);
  });

  it("a root that was given up is not taken up by the next rotation, though its key outlived a crash", async () => {
    const ca = await start();
    await certificate(ca, "api");
    await rotate(ca);
    const [own = "", given = ""] = rootsOf(await certificate(ca, "web")).trusted;
    const kept = join(workDir, "kept");
    await cp(join(workDir, "ca"), kept, {
      recursive: true,
      filter: (file) => !file.endsWith(".json") || file.endsWith("in-use.json"),
    });
    assert.equal((await look(ca, "?action=abort")).phase, "idle");
    for (const one of running.splice(0)) await one[Symbol.asyncDispose]();
    await cp(kept, join(workDir, "ca"), { recursive: true });
    const again = await start();
    assert.equal((await rotate(again)).phase, "trusting");
    const { trusted } = rootsOf(await certificate(again, "web"));
    assert.equal(trusted.length, 2);
    assert.ok(trusted.includes(own) && !trusted.includes(given));
  });

  it("waits for certificates whose records the bus lost while no ca ran", async () => {
    const ca = await start();
    const { issuer } = rootsOf(await certificate(ca, "api"));
    for (const one of running.splice(0)) await one[Symbol.asyncDispose]();
    await bus[Symbol.asyncDispose]();
    busUrl = `embedded:${randomUUID()}`;
    bus = await connectBus({ url: busUrl, clientName: "test", log: noopLogger }, AbortSignal.timeout(60_000));
    const again = await start();
    await rotate(again);
    assert.equal((await heldUpBy(again, "api")).phase, "trusting");
    assert.equal(rootsOf(await certificate(again, "api")).issuer, issuer);
    await inPhase(again, "issuing");
    assert.equal((await heldUpBy(again, "api")).phase, "issuing");
    await certificate(again, "api");
    await inPhase(again, "idle");
    await certificate(again, "api");
  });

  it("goes over to plugged-in material and waits for it in its place", async () => {
    const ca = await start();
    const key = await generatePrivateKey("ecdsa-p256");
    const times = { notBeforeMs: Date.now() - 1000, notAfterMs: Date.now() + 3_600_000 };
    const root = issueRoot({ serial: Buffer.alloc(16, 7), subject: { organization: "ours" }, ...times }, key);
    const files = {
      "ca-cert.pem": certificatePem(root),
      "root-cert.pem": certificatePem(root),
      "ca-key.pem": privateKeyPem(key),
    };
    const plugIn = async (directory: string): Promise<void> => {
      await mkdir(join(workDir, directory), { recursive: true });
      for (const [file, text] of Object.entries(files)) await writeFile(join(workDir, directory, file), text);
    };
    await plugIn("next");
    await rotate(ca);
    await until(async () => (await look(ca)).holdups.some(({ reason }) => /ROOT_CA_NEXT_DIR/.test(reason)), {
      withinMs: 30_000,
      what: "the operator being asked",
    });
    assert.deepEqual(rootsOf(await certificate(ca, "web")), { issuer: rootId(root), trusted: [rootId(root)] });
    await plugIn("cacerts");
    await inPhase(ca, "idle");
    assert.match((await rotate(ca)).error ?? "", /leads to the root in use/);
  });

  it("is asked for from ca's own host, not by a page in a browser there, and not without a bus", async () => {
    const ca = await start();
    const url = `http://127.0.0.1:${ca.health}/debug/rotation?action=rotate`;
    const foreign = await fetch(url, { method: "POST", headers: { origin: "http://evil.test" } });
    assert.equal(foreign.status, 403);
    assert.equal((await fetch(url.replace("=rotate", "=burn"), { method: "POST" })).status, 400);
    const alone = await startCa();
    running.push(alone);
    assert.match((await rotate(alone)).error ?? "", /bus/);
  });
});
