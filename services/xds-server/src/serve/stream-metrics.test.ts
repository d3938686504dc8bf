/** Counters and gauges of streams, as Prometheus reads them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { createStreamMetrics } from "./stream-metrics.ts";

test("the largest request so far stays, whatever comes after it", async () => {
  const metrics = createMetrics();
  const { received } = createStreamMetrics(metrics);
  const largest = async () => /^pilot_xds_recv_max (\d+)$/m.exec(await metrics.text())?.[1];
  assert.equal(await largest(), "0");
  for (const bytes of [100, 5_000, 200]) received(bytes);
  assert.equal(await largest(), "5000");
});

test("connected proxies are counted by version, and what states no version as other", async () => {
  const metrics = createMetrics();
  const { connected } = createStreamMetrics(metrics);
  connected("1.40.0", 1);
  connected("1.40.0", 1);
  connected("no version", 1);
  connected("1.40.0", -1);
  const lines = (await metrics.text()).split("\n").filter((line) => line.startsWith("pilot_xds{"));
  assert.deepEqual(lines.toSorted(), ['pilot_xds{version="1.40.0"} 1', 'pilot_xds{version="other"} 1']);
});
