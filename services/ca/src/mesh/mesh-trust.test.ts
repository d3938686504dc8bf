/** ca hears the trust domain of the mesh over the bus, and remembers it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { requestCertificate } from "@flotilla/auth/serving";
import { type Bus, connectBus, createPublisher, type Publisher } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { parseCertificatePem } from "@flotilla/pki";
import { createLogger, noopLogger, until } from "@flotilla/runtime";
import { type RunningCa, serverName, startCa } from "../main.fixture.ts";
import { MeshTrust } from "./mesh-trust.ts";

function meshConfig(spec: object): Change {
  const key = { kind: "MeshConfig", namespace: "", name: "mesh" };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

function publisherOn(bus: Bus): Publisher {
  return createPublisher({ bus, publisher: "config-controller", seal: undefined, log: noopLogger, nowMs: Date.now });
}

async function identityFrom(ca: RunningCa): Promise<string | undefined> {
  const proof = { token: await ca.mint("shop", "reviews") };
  const call = { address: `127.0.0.1:${ca.grpc}`, serverName, rootsPem: ca.rootsPem, proof };
  const { chainPem } = await requestCertificate({ ...call, names: [], keyType: "ecdsa-p256", ttlMs: 60_000 });
  return parseCertificatePem(chainPem).sans[0]?.value;
}

describe("trust domain of the mesh", () => {
  it("is received before the first certificate is issued, and later changes count", async () => {
    const url = `embedded:${randomUUID()}`;
    await using bus = await connectBus({ url, clientName: "test", log: noopLogger }, new AbortController().signal);
    const publisher = publisherOn(bus);
    const starting = startCa({ BUS_URL: url });
    await publisher.synchronize([meshConfig({ trustDomain: "first.test" })]);
    await using ca = await starting;
    assert.equal(await identityFrom(ca), "spiffe://first.test/ns/shop/sa/reviews");
    await publisher.publish([meshConfig({ trustDomain: "second.test", trustDomainAliases: ["first.test"] })]);
    await until(async () => (await identityFrom(ca)) === "spiffe://second.test/ns/shop/sa/reviews", {
      withinMs: 30_000,
      what: "the new trust domain",
    });
  });

  it("the setting wins, and aliases of both are known", async () => {
    const directory = await mkdtemp(join(tmpdir(), "ca-mesh-"));
    const file = join(directory, "mesh.json");
    const url = `embedded:${randomUUID()}`;
    const stop = new AbortController();
    try {
      await using bus = await connectBus({ url, clientName: "test", log: noopLogger }, stop.signal);
      const trust = new MeshTrust({ trustDomain: "own.test", aliases: ["set.test"], file, log: noopLogger });
      assert.equal(await trust.restore(), false);
      const following = trust.follow(bus, () => undefined, stop.signal).catch(() => undefined);
      await publisherOn(bus).synchronize([
        meshConfig({ trustDomain: "mesh.test", trustDomainAliases: ["old.test", ""] }),
      ]);
      await until(() => trust.all.length === 3, { withinMs: 30_000, what: "the aliases" });
      assert.deepEqual([trust.trustDomain, trust.all], ["own.test", ["own.test", "set.test", "old.test"]]);
      stop.abort();
      await following;
      const next = new MeshTrust({ trustDomain: undefined, aliases: [], file, log: noopLogger });
      assert.equal(await next.restore(), true);
      assert.deepEqual(next.all, ["mesh.test", "old.test"]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

it("a copy that cannot be read is logged, and one that is not there is not", async () => {
  const directory = await mkdtemp(join(tmpdir(), "ca-copy-"));
  const lines: string[] = [];
  const log = createLogger("ca", "info", { write: (line) => void lines.push(line) });
  const restored = (file: string) =>
    new MeshTrust({ trustDomain: undefined, aliases: [], file: join(directory, file), log }).restore();
  await writeFile(join(directory, "torn.json"), "{");
  assert.deepEqual([await restored("none.json"), lines], [false, []]);
  assert.equal(await restored("torn.json"), false);
  assert.match(lines.join(), /torn\.json.*saved mesh settings unreadable/);
  await rm(directory, { recursive: true });
});

describe("values of a MeshConfig", () => {
  const cases: readonly (readonly [name: string, spec: unknown, expected: object])[] = [
    ["of nothing are the defaults", {}, {}],
    ["that is null are the defaults", null, {}],
    ["leave out an empty trust domain", { trustDomain: "" }, {}],
    ["leave out a trust domain that is no text", { trustDomain: 7 }, {}],
    [
      "have aliases, without empty ones and the domain itself",
      { trustDomain: "a.test", trustDomainAliases: ["b.test", "", 7, "a.test", "b.test"] },
      { all: ["a.test", "b.test"] },
    ],
    [
      "have anchors as texts and as addresses",
      { caCertificates: [{ pem: "one" }, { spiffeBundleUrl: "https://b" }, { pem: "" }, { pem: 7 }, null] },
      { pems: ["one"], urls: ["https://b"] },
    ],
    ["leave out anchors that are no list", { caCertificates: { pem: "one" } }, {}],
    [
      "have the roots of a signer, of several entries together",
      {
        caCertificates: [
          { pem: "one", certSigners: ["x/s", "x/t"] },
          { pem: "two", certSigners: ["x/s"] },
          { certSigners: ["x/u"] },
          { pem: "three", certSigners: "x/v" },
        ],
      },
      { pems: ["one", "two", "three"], signers: ["onetwo", "one", undefined, undefined] },
    ],
  ];
  for (const [name, spec, expected] of cases)
    it(name, async () => {
      const directory = await mkdtemp(join(tmpdir(), "ca-values-"));
      const file = join(directory, "mesh.json");
      try {
        await writeFile(file, JSON.stringify(spec));
        const trust = new MeshTrust({ trustDomain: undefined, aliases: [], file, log: noopLogger });
        assert.equal(await trust.restore(), true);
        const { pems, urls } = trust.anchors;
        const signers = ["x/s", "x/t", "x/u", "x/v"].map((signer) => trust.rootsOfSigner(signer));
        assert.deepEqual(
          { all: trust.all, pems, urls, signers },
          { all: ["cluster.local"], pems: [], urls: [], signers: signers.map(() => undefined), ...expected },
        );
      } finally {
        await rm(directory, { recursive: true });
      }
    });
});
