/** Since when every certificate is recorded: of the first replica that asks, for all. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { type RecordedSinceOptions, readRecordedSince } from "./recorded-since.ts";

const nowMs = 1_700_000_000_000;
let buses = 0;

async function openValues() {
  const url = `embedded:recorded-since-${buses++}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
  return { values: await bus.keyValue("rotation"), [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

const young = { rootNotBeforeMs: nowMs - 599_999, nowMs, knownMs: undefined };
const cases: readonly (readonly [name: string, options: RecordedSinceOptions, expected: number | undefined])[] = [
  ["its beginning, with a root that is as young as the ledger", young, undefined],
  ["now, with a root that may have issued before", { ...young, rootNotBeforeMs: nowMs - 600_000 }, nowMs],
  ["what this replica knows, where the bus has nothing", { ...young, knownMs: 7 }, 7],
  ["its beginning, where this replica knows that", { ...young, rootNotBeforeMs: 0, knownMs: 0 }, undefined],
];

describe("certificates are recorded since", () => {
  for (const [name, options, expected] of cases)
    it(name, async () => {
      await using bus = await openValues();
      assert.equal(await readRecordedSince(bus.values, options), expected);
      const later = { ...options, nowMs: nowMs + 1_000_000, knownMs: 9 };
      assert.equal(await readRecordedSince(bus.values, later), expected, "for all replicas");
    });

  for (const text of ["-1", "soon", "", "12345678901234567"])
    it(`now, where the stored moment is "${text}"`, async () => {
      await using bus = await openValues();
      await bus.values.put("recorded-since", new TextEncoder().encode(text));
      assert.equal(await readRecordedSince(bus.values, { ...young, knownMs: 7 }), nowMs);
    });
});
