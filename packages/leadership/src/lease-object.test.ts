/** Candidates in the annotations of a Lease: whose claim counts, and for how long a nomination does. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Lease } from "@flotilla/kube-api";
import { holderOf, Nominee, renewed } from "./lease-object.ts";

const candidate = { holder: "a", version: "1.2.0", isDefaultRevision: true };
const leaseOf = (text: string | undefined, of: "holder" | "nominee" = "holder"): Lease =>
  ({
    metadata: { annotations: text === undefined ? {} : { [`flotilla.dev/lease-${of}`]: text } },
    spec: { holderIdentity: "a" },
  }) as unknown as Lease;

describe("the holder of a lease", () => {
  for (const { name, text, is } of [
    { name: "is who wrote the claim", text: JSON.stringify(candidate), is: candidate },
    { name: "is none without a claim", text: undefined, is: undefined },
    { name: "is none where the claim is no JSON", text: "{", is: undefined },
    { name: "is none where it is nothing", text: "null", is: undefined },
    { name: "is none of another", text: JSON.stringify({ ...candidate, holder: "b" }), is: undefined },
    { name: "is none without a version", text: '{"holder":"a"}', is: undefined },
    { name: "is none with a version of another type", text: '{"holder":"a","version":1}', is: undefined },
    {
      name: "serves the default revision only where it says so",
      text: '{"holder":"a","version":"1","isDefaultRevision":"yes"}',
      is: { holder: "a", version: "1", isDefaultRevision: false },
    },
  ])
    it(name, () => assert.deepEqual(holderOf(leaseOf(text)), is));
});

describe("a nominee", () => {
  it("counts while it repeats itself, and with a holder of another type not at all", () => {
    const nominee = new Nominee();
    const lease = leaseOf(JSON.stringify({ ...candidate, holder: "b" }), "nominee");
    assert.equal(nominee.of(lease, 1_000, 500)?.holder, "b");
    assert.equal(nominee.of(lease, 1_500, 500)?.holder, "b");
    assert.equal(nominee.of(lease, 1_501, 500), undefined);
    const again = leaseOf(JSON.stringify({ ...candidate, holder: "b", version: "1.2.1" }), "nominee");
    assert.equal(nominee.of(again, 2_000, 500)?.version, "1.2.1");
    assert.equal(nominee.of(leaseOf('{"holder":7,"version":"1"}', "nominee"), 2_001, 500), undefined);
  });
});

describe("a lease as its holder writes it", () => {
  const claim = { name: "l", namespace: "n", candidate, ttlMs: 1_400, wallClockMs: () => Date.UTC(2026, 0, 1) };
  const now = "2026-01-01T00:00:00.000000Z";
  it("is new, with a whole second at least", () => {
    const { metadata, spec } = renewed(undefined, { ...claim, ttlMs: 100 });
    assert.deepEqual([metadata.name, metadata.namespace], ["l", "n"]);
    assert.deepEqual(spec, {
      ...{ holderIdentity: "a", leaseDurationSeconds: 1, acquireTime: now, renewTime: now, leaseTransitions: 0 },
    });
  });
  it("keeps when it was acquired, its transitions and its nominee while it is renewed", () => {
    const before = {
      metadata: { annotations: { "flotilla.dev/lease-nominee": "n", other: "o" } },
      spec: { holderIdentity: "a", acquireTime: "then", leaseTransitions: 3 },
    } as unknown as Lease;
    const { metadata, spec } = renewed(before, claim);
    assert.deepEqual([spec?.acquireTime, spec?.leaseTransitions, spec?.leaseDurationSeconds], ["then", 3, 1]);
    assert.equal(metadata.annotations?.["flotilla.dev/lease-nominee"], "n");
    assert.equal(metadata.annotations?.["other"], "o");
  });
  it("counts a transition and drops the nomination where another held it", () => {
    const before = {
      metadata: { annotations: { "flotilla.dev/lease-nominee": "n" } },
      spec: { holderIdentity: "b", acquireTime: "then", leaseTransitions: 3 },
    } as unknown as Lease;
    const { metadata, spec } = renewed(before, claim);
    assert.deepEqual([spec?.acquireTime, spec?.leaseTransitions], [now, 4]);
    assert.equal(metadata.annotations?.["flotilla.dev/lease-nominee"], undefined);
    assert.deepEqual(holderOf({ metadata, spec } as Lease), candidate);
  });
});
