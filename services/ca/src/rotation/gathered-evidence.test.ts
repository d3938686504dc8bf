/**
 * Since when certificates are on record: agreed on by all replicas, and kept on disk where the bus loses it; and when records are compared with the
 * bus.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, test } from "node:test";
import { connectBus, type KeyValue } from "@flotilla/bus";
import { noopLogger, until } from "@flotilla/runtime";
import { compareEvidence, type EvidenceComparison, GatheredEvidence } from "./gathered-evidence.ts";

const directory = mkdtempSync(join(tmpdir(), "ca-evidence-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const nowMs = 100_000_000;
const minuteMs = 60_000;
let buses = 0;

async function openValues() {
  const stop = new AbortController();
  const url = `embedded:evidence-${++buses}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, stop.signal);
  return { values: await bus.keyValue("ca"), [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

/** A process of a replica, with the file that it keeps over its restarts. */
async function evidenceOf(name: string) {
  const evidence = new GatheredEvidence({
    ...{ name, maxTtlMs: 1_000, nowMs: () => nowMs, log: noopLogger },
    ...{ journalFile: join(directory, name), endedOf: async () => new Set<string>() },
  });
  await evidence.restore();
  return evidence;
}

describe("certificates are on record", () => {
  const cases: readonly (readonly [
    name: string,
    rootAgeMs: number,
    stored: string | undefined,
    since: number | undefined,
  ])[] = [
    ["since the root was made, where it is young", minuteMs, undefined, undefined],
    ["since now, where the root is old", 10 * minuteMs, undefined, nowMs],
    ["since the moment that another replica reported", 10 * minuteMs, "7", 7],
    ["since the root was made, as another replica reported", 10 * minuteMs, "0", undefined],
    ["since now, where the report cannot be read", minuteMs, "yesterday", nowMs],
  ];
  for (const [name, rootAgeMs, stored, since] of cases)
    it(name, async () => {
      await using bus = await openValues();
      if (stored !== undefined) await bus.values.put("recorded-since", new TextEncoder().encode(stored));
      const evidence = await evidenceOf(name);
      assert.equal(await evidence.readRecordedSince(bus.values, nowMs - rootAgeMs), since);
      await evidence.sayGoodbye(bus.values);
    });

  it("since the same moment after the bus has lost it and the replica was restarted", async () => {
    for (const [file, stored, since] of [
      ["lost", "7", 7],
      ["lost-none", "0", undefined],
    ] as const) {
      await using bus = await openValues();
      await bus.values.put("recorded-since", new TextEncoder().encode(stored));
      const before = await evidenceOf(file);
      await before.readRecordedSince(bus.values, 0);
      await before.sayGoodbye(bus.values);
      await using empty = await openValues();
      assert.equal(await (await evidenceOf(file)).readRecordedSince(empty.values, 0), since);
    }
  });
});

/** Compares with these results, one at a time; returns the log lines. */
async function compared(results: readonly (number | Error)[]) {
  let looks = 0;
  const lines: string[] = [];
  const write = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const options: EvidenceComparison = {
    bus: { state: { connected: true }, onState: () => () => undefined } as unknown as EvidenceComparison["bus"],
    values: {} as KeyValue,
    evidence: {
      compare: async () => {
        const result = results[looks++] ?? 0;
        if (typeof result === "number") return result;
        throw result;
      },
    },
    log: { ...noopLogger, warn: (message) => write(message), error: write },
  };
  const stop = new AbortController();
  const running = compareEvidence(options, stop.signal);
  try {
    await until(() => looks >= results.length, { withinMs: 10_000, what: "the comparisons" });
    await new Promise(setImmediate);
  } finally {
    stop.abort();
    await running;
  }
  return lines;
}

test("records are compared when the process starts, and those that are missing are counted", async () => {
  const lines = await compared([3]);
  assert.deepEqual(lines, ['the bus lost records of certificates, which are written again {"missing":3}']);
});

test("a comparison that failed is made again soon", async () => {
  const lines = await compared([new Error("no answer"), 2]);
  assert.match(lines[0] ?? "", /not compared/);
  assert.match(lines[1] ?? "", /"missing":2/);
});

test("nothing is logged if no record is missing", async () => {
  assert.deepEqual(await compared([0]), []);
});

test("a report that says the same is written again after its time, another one at once", async () => {
  await using bus = await openValues();
  const evidence = await evidenceOf("reports");
  let written = 0;
  const values: KeyValue = {
    ...bus.values,
    put: (...given) => {
      written++;
      return bus.values.put(...given);
    },
  };
  const state = { applied: "r idle", root: "a" };
  for (let tick = 0; tick < 3; tick++) await evidence.report(values, state, 600_000);
  assert.equal(written, 1);
  await evidence.report(values, { ...state, root: "b" }, 600_000);
  assert.equal(written, 2);
  for (let tick = 0; tick < 2; tick++) await evidence.report(values, { ...state, root: "b" }, 0);
  assert.equal(written, 4);
});
