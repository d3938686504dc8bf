/** When records of certificates are compared with the bus, and what is logged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KeyValue } from "@flotilla/bus";
import { noopLogger, until } from "@flotilla/runtime";
import { compareEvidence, type EvidenceComparison } from "./compare-evidence.ts";

/** Compares with these results, one a look; gives the lines of log. */
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
  await until(() => looks >= results.length, { withinMs: 10_000, what: "the comparisons" });
  await new Promise(setImmediate);
  stop.abort();
  await running;
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

test("nothing is said where nothing is missing", async () => {
  assert.deepEqual(await compared([0]), []);
});
