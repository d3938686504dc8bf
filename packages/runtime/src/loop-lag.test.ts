import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "./metrics.ts";
import { delay } from "./wait.ts";

async function figuresOf(metrics: { text(): Promise<string> }): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("nodejs_eventloop_lag_"));
  return new Map(lines.map((line) => [line.split(" ")[0] ?? "", Number(line.split(" ")[1])]));
}

test("a stalled event loop shows as late timers, once, and an idle one as none", async () => {
  const metrics = createMetrics({ process: true });
  const names = ["seconds", "min_seconds", "max_seconds", "mean_seconds", "stddev_seconds"];
  const all = [...names, "p50_seconds", "p90_seconds", "p99_seconds"].map((name) => `nodejs_eventloop_lag_${name}`);
  assert.deepEqual([...(await figuresOf(metrics)).keys()], all);
  const sinceMs = performance.now();
  while (performance.now() - sinceMs < 600);
  await delay(1);
  const stalled = await figuresOf(metrics);
  const [max = 0, p99 = 0] = ["max", "p99"].map((name) => stalled.get(`nodejs_eventloop_lag_${name}_seconds`));
  // The timer was due at some moment within the first 100 ms of the stall.
  assert.ok(max > 0.45 && p99 > 0.45, `${max}, ${p99}`);
  const of = (name: string) => stalled.get(`nodejs_eventloop_lag_${name}_seconds`) ?? Number.NaN;
  for (const order of [
    ["min", "mean", "max"],
    ["min", "p50", "p90", "p99", "max"],
  ])
    order.reduce((less, more) => {
      // Percentiles are rounded to a thousandth.
      assert.ok(of(less) <= of(more) * 1.01, `${less} ${of(less)}, ${more} ${of(more)}`);
      return more;
    });
  assert.ok(of("min") > 0 && of("stddev") >= 0, `${of("min")}, ${of("stddev")}`);
  const later = (await figuresOf(metrics)).get("nodejs_eventloop_lag_max_seconds") ?? max;
  assert.ok(later < max, `${later}, ${max} before`);
});
