/** Secrets that outlive ca: where the seal key comes from, and where a self-signed root is kept. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createSeal } from "@flotilla/bus";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger } from "@flotilla/runtime";
import type { Cluster } from "../kubernetes/cluster.ts";
import type { CaService } from "../settings.ts";
import { createSecrets, selfSignedStore } from "./secrets.ts";

const directory = mkdtempSync(join(tmpdir(), "ca-secrets-"));
after(() => rmSync(directory, { recursive: true }));
const sealKeyFile = join(directory, "seal.key");
writeFileSync(sealKeyFile, Buffer.alloc(32, 7));
const ofFile = createSeal(Buffer.alloc(32, 7));
const noBus = () => Promise.reject(new Error("the bus is not asked"));

function serviceWith(settings: object): CaService {
  return {
    settings: { namespace: "mesh", sealKeySecret: undefined, storeSecret: undefined, sealKeyFile, ...settings },
    ...{ health: { setCondition: () => undefined }, log: noopLogger, stop: new AbortController().signal },
  } as unknown as CaService;
}

/** The Secrets there are then, and whether the seal is that of the file. */
async function created(settings: object, isInCluster = true) {
  const memory = createMemoryApi();
  const cluster = isInCluster ? ({ api: memory.api } as unknown as Cluster) : undefined;
  const seal = await createSecrets(serviceWith(settings), cluster);
  const secrets = memory.writes.map(({ object }) => (object as { metadata: { name: string } }).metadata.name);
  const open = () => seal && Buffer.from(ofFile.open(seal.seal(Buffer.from("x"), "k"), "k")).toString();
  let isOfFile = false;
  try {
    isOfFile = open() === "x";
  } catch {
    // Another key.
  }
  return { secrets: secrets.toSorted(), seal: seal === undefined ? "none" : isOfFile ? "file" : "Secret" };
}

describe("the seal key of ca", () => {
  const named = { sealKeySecret: "seal", storeSecret: "store" };
  const cases = [
    {
      name: "is that of its file without a cluster",
      settings: named,
      isInCluster: false,
      expected: { secrets: [], seal: "file" },
    },
    { name: "is that of its file where no Secret is named", settings: {}, expected: { secrets: [], seal: "file" } },
    {
      name: "is that of its Secret, which is made beside the passwords of Redis",
      ...{ settings: named, expected: { secrets: ["seal", "store"], seal: "Secret" } },
    },
    {
      name: "is that of its file where Redis alone has a Secret",
      ...{ settings: { storeSecret: "store" }, expected: { secrets: ["store"], seal: "file" } },
    },
    {
      name: "is that of its Secret where Redis has none",
      ...{ settings: { sealKeySecret: "seal" }, expected: { secrets: ["seal"], seal: "Secret" } },
    },
    {
      name: "is none where nothing has it",
      settings: { sealKeyFile: undefined },
      expected: { secrets: [], seal: "none" },
    },
  ];
  for (const { name, settings, isInCluster = true, expected } of cases)
    it(name, async () => assert.deepEqual(await created(settings, isInCluster), expected));
});

describe("a self-signed root without a cluster", () => {
  const rootOptions = { trustDomain: "td", ttlMs: 3_600_000, keyType: "ecdsa-p256" } as const;
  const refused = [
    { name: "without a bus", settings: { busUrl: undefined }, reason: /needs BUS_URL and SEAL_KEY_FILE/ },
    { name: "without a seal key", settings: { sealKeyFile: undefined }, reason: /needs BUS_URL and SEAL_KEY_FILE/ },
    {
      name: "on a bus that asks for a certificate of that root",
      ...{ settings: { busUrl: "tls://a, tls://b?certificates=/c" }, reason: /lies behind it/ },
    },
  ];
  for (const { name, settings, reason } of refused)
    it(`is refused ${name}`, async () => {
      const place = { selfSignedStore: "bus", busUrl: "nats://127.0.0.1:1", selfSignedDir: directory, ...settings };
      await assert.rejects(selfSignedStore(serviceWith(place), noBus), { code: "CA_BAD_MATERIAL", message: reason });
    });

  it("is on disk where that is asked for, and on the bus else", async () => {
    const place = { selfSignedDir: join(directory, "root"), busUrl: "nats://127.0.0.1:1" };
    const disk = await selfSignedStore(serviceWith({ ...place, selfSignedStore: "disk" }), noBus);
    const made = await disk.open(rootOptions, Date.now());
    assert.equal((await disk.open(rootOptions, Date.now())).certificatePem, made.certificatePem);
    const bus = await selfSignedStore(serviceWith({ ...place, selfSignedStore: "bus" }), noBus);
    await assert.rejects(bus.open(rootOptions, Date.now()), /the bus is not asked/);
  });
});
