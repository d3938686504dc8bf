/** Lines for rejections by a clock that the test sets. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { typeUrl } from "@flotilla/proto";
import { type Logger, noopLogger } from "@flotilla/runtime";
import { RejectionLog } from "./rejection-log.ts";

it("rejections get ten lines at once, then one in ten seconds with the number of those without", () => {
  const lines: unknown[] = [];
  let [nowMs, unlogged] = [1_000, 0];
  const log: Logger = { ...noopLogger, warn: (_text, fields) => void lines.push(fields?.["unlogged"]) };
  const rejections = new RejectionLog({ now: () => nowMs, onUnlogged: () => unlogged++ });
  const reject = (count: number): void => {
    for (let at = 0; at < count; at++)
      rejections.write(log, "proxy", typeUrl.cluster, { nonce: `${at}`, code: 13, message: "no" });
  };
  reject(1_000);
  assert.deepEqual([lines.length, unlogged], [10, 990]);
  nowMs += 9_000;
  reject(5);
  assert.deepEqual([lines.length, unlogged], [10, 995]);
  nowMs += 1_000;
  reject(5);
  assert.deepEqual([lines.length, unlogged, lines.at(-1)], [11, 999, 995]);
  nowMs += 1_000_000;
  reject(1_000);
  assert.deepEqual([lines.length, lines.at(-10), lines.at(-1)], [21, 4, undefined]);
});
