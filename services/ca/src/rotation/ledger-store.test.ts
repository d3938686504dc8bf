/** The ledger in the shared bucket: replicas write beside each other, and what the bus lost is written again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectBus, type KeyValue } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { type Holding, Ledger } from "./ledger.ts";
import { compareLedger, flushLedger, loadLedger } from "./ledger-store.ts";

const nowMs = () => 1_000;
let buses = 0;

async function openValues() {
  const url = `embedded:ledger-store-${buses++}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
  return { values: await bus.keyValue("rotation"), [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

const holding = (name: string, notAfterMs = 5_000): Holding => ({
  ...{ identity: "spiffe://td/ns/shop/sa/web", place: `pod shop/${name} u`, issuer: "r", roots: ["r"] },
  ...{ issuedMs: 500, notAfterMs },
});
const ledgerOf = (...holdings: readonly Holding[]): Ledger => {
  const ledger = new Ledger();
  for (const one of holdings) ledger.record(one);
  return ledger;
};
const placesIn = (ledger: Ledger) => ledger.holdings(1_000).map(({ place }) => place.split(" ")[1]);

/** Counts writes, of which the first `lost` find that somebody else was faster. */
function counted(values: KeyValue, lost = 0) {
  let writes = 0;
  const update: KeyValue["update"] = async (key, value, revision) =>
    writes++ < lost ? undefined : values.update(key, value, revision);
  return { values: { ...values, update }, writes: () => writes };
}

describe("the ledger in the shared bucket", () => {
  it("has what all replicas recorded, whichever wrote first", async () => {
    await using bus = await openValues();
    await flushLedger(ledgerOf(holding("a"), holding("b")), bus.values, nowMs);
    await flushLedger(ledgerOf(holding("a"), holding("c"), holding("ended", 1_000)), bus.values, nowMs);
    const other = new Ledger();
    await loadLedger(other, bus.values);
    assert.deepEqual(placesIn(other).toSorted(), ["shop/a", "shop/b", "shop/c"]);
  });

  it("is written where there is something new, and once", async () => {
    await using bus = await openValues();
    const { values, writes } = counted(bus.values);
    const ledger = ledgerOf(holding("a"));
    await flushLedger(ledger, values, nowMs);
    await flushLedger(ledger, values, nowMs);
    assert.equal(writes(), 1);
  });

  it("is written over the entries of a replica that was faster", async () => {
    await using bus = await openValues();
    const { values, writes } = counted(bus.values, 2);
    await flushLedger(ledgerOf(holding("a")), values, nowMs);
    assert.equal(writes(), 3);
  });

  it("is to be written later where the bus takes nothing", async () => {
    await using bus = await openValues();
    const ledger = ledgerOf(holding("a"));
    const away = { ...bus.values, update: () => Promise.reject(new Error("away")) };
    await assert.rejects(flushLedger(ledger, away, nowMs), /away/);
    await assert.rejects(
      flushLedger(ledger, counted(bus.values, 1_000).values, nowMs),
      /written by others all the time/,
    );
    const { values, writes } = counted(bus.values);
    await flushLedger(ledger, values, nowMs);
    assert.equal(writes(), 1);
  });

  it("is written again where the bus has lost entries, and nothing else is", async () => {
    await using bus = await openValues();
    const ledger = ledgerOf(holding("a"), holding("b"));
    await flushLedger(ledger, bus.values, nowMs);
    assert.equal(await compareLedger(ledger, bus.values, nowMs), 0);
    assert.deepEqual(ledger.takeDirty(), []);
    const stored = await bus.values.entries();
    const [first] = stored.filter(({ value }) => Buffer.from(value ?? "").includes("shop/a"));
    await bus.values.delete(first?.key ?? assert.fail("no entry"));
    assert.equal(await compareLedger(ledger, bus.values, nowMs), 1);
    const { values, writes } = counted(bus.values);
    await flushLedger(ledger, values, nowMs);
    assert.equal(writes(), 1);
    assert.equal(await compareLedger(ledger, bus.values, nowMs), 0);
  });

  it("adds nothing from a shard that cannot be read, and takes its place", async () => {
    await using bus = await openValues();
    for (let shard = 0; shard < 64; shard++) await bus.values.put(`ledger/${shard}`, Buffer.from("[{}]"));
    const ledger = ledgerOf(holding("a"));
    await loadLedger(ledger, bus.values);
    assert.deepEqual(placesIn(ledger), ["shop/a"]);
    await flushLedger(ledger, bus.values, nowMs);
    const other = new Ledger();
    await loadLedger(other, bus.values);
    assert.deepEqual(placesIn(other), ["shop/a"]);
  });
});
