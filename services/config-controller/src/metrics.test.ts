/** Metrics that are computed when they are read, and the count of what the stream took. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import {
  declareAwayGauge,
  declareDutyGauge,
  declareMetrics,
  declareObjectsGauge,
  publishedCounter,
} from "./metrics.ts";

const valuesOf = async (metrics: ReturnType<typeof createMetrics>, name: string) =>
  (await metrics.text()).split("\n").filter((line) => line.startsWith(name));

it("published changes are counted by what they do, and no series is there before its first one", async () => {
  const metrics = createMetrics();
  const count = publishedCounter(declareMetrics(metrics));
  const name = "flotilla_config_published_total";
  count([]);
  assert.deepEqual(await valuesOf(metrics, name), []);
  count([{ op: "put" }, { op: "put" }]);
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{op="put"} 2`]);
  count([{ op: "put" }, { op: "delete" }]);
  count([{ op: "delete" }]);
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{op="put"} 3`, `${name}{op="delete"} 2`]);
});

it("objects in force are those of now, without kinds that are gone", async () => {
  const metrics = createMetrics();
  let counts = new Map([
    ["Gateway", 1],
    ["Sidecar", 2],
  ]);
  declareObjectsGauge(metrics, () => counts);
  const name = "flotilla_config_objects";
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{kind="Gateway"} 1`, `${name}{kind="Sidecar"} 2`]);
  counts = new Map([["Sidecar", 3]]);
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{kind="Sidecar"} 3`]);
});

it("clusters are as old as their last state, and those that are left are not shown", async () => {
  const metrics = createMetrics();
  let away = new Map([
    ["east", { sinceMs: 3_000 }],
    ["west", undefined],
  ]);
  declareAwayGauge(
    metrics,
    () => away,
    () => 5_000,
  );
  const name = "flotilla_cluster_away_seconds";
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{cluster="east"} 2`, `${name}{cluster="west"} 0`]);
  away = new Map([["west", undefined]]);
  assert.deepEqual(await valuesOf(metrics, name), [`${name}{cluster="west"} 0`]);
});

it("the replica that publishes is the one whose gauge is 1", async () => {
  const metrics = createMetrics();
  let isOurs = false;
  declareDutyGauge(metrics, () => isOurs);
  const name = "flotilla_config_publishes";
  assert.deepEqual(await valuesOf(metrics, name), [`${name} 0`]);
  isOurs = true;
  assert.deepEqual(await valuesOf(metrics, name), [`${name} 1`]);
});
