/** Reports of the trust of connected proxies: who each is, where it is called from, and which roots it has accepted. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeTrustReport, type ProxyTrust } from "@flotilla/auth";
import type { Bus } from "@flotilla/bus";
import { create, encode, typeUrl } from "@flotilla/proto";
import { ProxyConfigSchema } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { createTestAuthority } from "@flotilla/testkit";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { aSidecar } from "../testing/mesh.ts";
import { aReceipt, aStream, aTypeRecord } from "../testing/stream.ts";
import { trustReports } from "./trust-report.ts";

const { rootPem } = await createTestAuthority();

/** A core whose proxies get the root by PCDS at one version. */
function aCore(version: string): Core {
  const bytes = encode(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem: [rootPem] }));
  const byName = new Map([["", { name: "", typeUrl: typeUrl.proxyConfig, version, bytes }]]);
  return { subjectOf: () => ({}), resources: () => ({ version, byName }) } as unknown as Core;
}

/** The reports that are written while each of these lists is looked at once, in order. */
async function reported(core: Core, looks: readonly (readonly StreamRecord[])[], isConnected = true) {
  const written: (readonly ProxyTrust[])[] = [];
  const stop = new AbortController();
  const put = async (_: string, bytes: Uint8Array) => void written.push(decodeTrustReport(bytes));
  const bus = { state: { connected: isConnected }, keyValue: async () => ({ put }) } as unknown as Bus;
  const left = [...looks];
  const streams = () => {
    const next = left.shift() ?? [];
    if (left.length === 0) stop.abort();
    return next;
  };
  await trustReports({ core, streams, everyMs: 0 })(bus, stop.signal);
  return written;
}

const accepting = (version: string) => ({
  [typeUrl.proxyConfig]: aTypeRecord({ acknowledged: aReceipt("n", 1, { version }) }),
});

describe("the trust of a proxy", () => {
  const cases: readonly (readonly [string, Partial<StreamRecord>, Readonly<Record<string, unknown>>])[] = [
    ["is of the pod in its name", {}, { proxy: "app.shop", pod: "shop/app" }],
    [
      "is of the whole name where that does not end in the namespace",
      { proxy: { ...aSidecar("shop"), id: "app.other" } },
      { pod: "shop/app.other" },
    ],
    ["has the host that it calls from", { peer: "10.0.0.1:40000" }, { host: "10.0.0.1" }],
    ["has a host of IPv6 without brackets", { peer: "[2001:db8::1]:40000" }, { host: "2001:db8::1" }],
    [
      "has its proven identities",
      { identities: ["spiffe://td/ns/shop/sa/a"] },
      { identities: ["spiffe://td/ns/shop/sa/a"] },
    ],
    ["has no roots before it accepts any", {}, { roots: undefined }],
  ];
  for (const [name, more, want] of cases)
    it(name, async () => {
      const [[trust] = []] = await reported(aCore("v1"), [[aStream("1", {}, more)]]);
      for (const [field, value] of Object.entries(want)) assert.deepEqual(trust?.[field as keyof ProxyTrust], value);
    });

  it("has the roots of the version that it accepted", async () => {
    const [[trust] = []] = await reported(aCore("v1"), [[aStream("1", accepting("v1"))]]);
    assert.equal(trust?.roots?.length, 1);
  });
  it("has no roots for a version that came and went unseen", async () => {
    const [[trust] = []] = await reported(aCore("v2"), [[aStream("1", accepting("v1"))]]);
    assert.equal(trust?.roots, undefined);
  });
});

describe("reports of trust", () => {
  const [one, other] = [aStream("1"), aStream("2", {}, { proxy: aSidecar("bank") })];
  const names = (written: readonly (readonly ProxyTrust[])[]) => written.map((list) => list.map(({ proxy }) => proxy));
  it("are written once while nothing changes", async () =>
    assert.deepEqual(names(await reported(aCore("v1"), [[one], [one], [one]])), [["app.shop"]]));
  it("are written again when a proxy comes or goes", async () =>
    assert.deepEqual(names(await reported(aCore("v1"), [[one], [one, other], [other]])), [
      ["app.shop"],
      ["app.shop", "app.bank"],
      ["app.bank"],
    ]));
  it("are written again when a proxy accepts roots", async () => {
    const versions = [undefined, "v1", "v1"];
    const stream: StreamRecord = { ...one, acknowledgedVersion: () => versions.shift() };
    const written = await reported(aCore("v1"), [[stream], [stream], [stream]]);
    assert.deepEqual(
      written.map(([trust]) => trust?.roots?.length),
      [undefined, 1],
    );
  });
  it("have the roots of a version that is known only later", async () => {
    const versions = ["v1", "v2", "v1"];
    const core = {
      ...aCore(""),
      resources: () => aCore(versions[0] ?? "").resources({} as never, ""),
    } as unknown as Core;
    const stream: StreamRecord = { ...one, acknowledgedVersion: () => "v1" };
    const seen: readonly (readonly StreamRecord[])[] = [[stream], [stream], [stream]];
    versions.splice(0, 1);
    const before = await reported(core, seen);
    assert.equal(before.at(-1)?.[0]?.roots, undefined);
    versions.splice(0, 1);
    const after = await reported(core, seen);
    assert.deepEqual([after.length, after[0]?.[0]?.roots?.length], [1, 1]);
  });
  it("wait for a bus that is away", async () =>
    assert.deepEqual(await reported(aCore("v1"), [[one], [one]], false), []));
});
