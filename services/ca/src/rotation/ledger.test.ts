/** Certificates in circulation: which one of a holder counts, which shards are to be reported, and which entries were lost. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Holding, Ledger, parseHoldings, shardCount } from "./ledger.ts";

const pod = { cluster: "c", namespace: "shop", name: "web-1", uid: "u" };
const holdingOf = (name: string, more: Partial<Holding> = {}): Holding => ({
  ...{ identity: `spiffe://td/ns/shop/sa/${name}`, place: `pod shop/${name} u`, issuer: "a", roots: ["a"] },
  ...{ issuedMs: 10, notAfterMs: 1_000 },
  ...more,
});
const issuedOf = (ledger: Ledger, nowMs = 20) => ledger.holdings(nowMs).map(({ issuedMs }) => issuedMs);

describe("certificates of one holder", () => {
  const cases: readonly (readonly [
    name: string,
    first: Partial<Holding>,
    second: Partial<Holding>,
    issued: readonly number[],
  ])[] = [
    ["of a pod the newest counts", { issuedMs: 10 }, { issuedMs: 11 }, [11]],
    ["of a pod the newest counts, whichever came first", { issuedMs: 11 }, { issuedMs: 10, notAfterMs: 2_000 }, [11]],
    [
      "of a host the last to expire counts",
      { place: "host h", issuedMs: 11 },
      { place: "host h", issuedMs: 10, notAfterMs: 2_000 },
      [10],
    ],
    [
      "of a host each kind counts",
      { place: "host h", issuedMs: 11 },
      { place: "host h", issuedMs: 12, issuer: "b" },
      [11, 12],
    ],
    ["of another place each counts", { issuedMs: 11 }, { place: "pod shop/other u", issuedMs: 12 }, [11, 12]],
  ];
  for (const [name, first, second, issued] of cases)
    it(name, () => {
      const ledger = new Ledger();
      for (const more of [first, second]) ledger.record(holdingOf("web", more));
      assert.deepEqual(issuedOf(ledger).toSorted(), issued);
    });

  it("keep the pod of the first token", () => {
    const ledger = new Ledger();
    ledger.record(holdingOf("web", { pod }));
    ledger.record(holdingOf("web", { issuedMs: 11 }));
    assert.deepEqual(ledger.holdings(20)[0]?.pod, pod);
  });

  it("count until they expire", () => {
    const ledger = new Ledger();
    ledger.record(holdingOf("web"));
    assert.deepEqual([issuedOf(ledger, 999), issuedOf(ledger, 1_001)], [[10], []]);
  });
});

describe("shards", () => {
  const shards = Array.from({ length: shardCount }, (_, index) => index);
  const missing = (ledger: Ledger, stored: readonly Holding[]) =>
    shards.reduce((sum, index) => sum + ledger.missingIn(index, stored, 20), 0);

  it("are to be reported once for what was recorded, and again where that failed", () => {
    const ledger = new Ledger();
    ledger.record(holdingOf("web"));
    const [index = -1, ...more] = ledger.takeDirty();
    assert.deepEqual([more, ledger.takeDirty()], [[], []]);
    assert.deepEqual(parseHoldings(ledger.text(index, 20)), [holdingOf("web")]);
    ledger.markDirty(index);
    assert.deepEqual(ledger.takeDirty(), [index]);
  });

  it("miss entries that were reported and are not stored", () => {
    const ledger = new Ledger();
    const [web, api] = [holdingOf("web"), holdingOf("api")];
    ledger.record(web);
    assert.equal(missing(ledger, []), 0, "it was not reported yet");
    ledger.takeDirty();
    assert.equal(missing(ledger, []), 1);
    assert.equal(missing(ledger, [web]), 0);
    assert.equal(missing(ledger, [{ ...web, issuedMs: 9 }]), 1, "another certificate of the holder is stored");
    ledger.restore([api, holdingOf("old", { notAfterMs: 15 })]);
    assert.deepEqual(ledger.takeDirty(), []);
    assert.equal(missing(ledger, [web]), 1, "what has expired is not missed");
    assert.equal(missing(ledger, [api, web]), 0);
  });

  it("take entries of other replicas without reporting them", () => {
    const [ledger, other] = [new Ledger(), new Ledger()];
    other.record(holdingOf("web"));
    const [index = -1] = other.takeDirty();
    ledger.merge(index, parseHoldings(other.text(index, 20)));
    assert.deepEqual([issuedOf(ledger), ledger.takeDirty()], [[10], []]);
  });
});
