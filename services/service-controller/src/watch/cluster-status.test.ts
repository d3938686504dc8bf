import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { awayText, type ClusterStatus, declareClusterCounters, declareClusterGauges } from "./cluster-status.ts";

const cluster = (id: string, more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  ...{ id, type: "remote", secretName: `mesh/${id}`, syncStatus: "synced", away: undefined },
  ...more,
});
const linesOf = (text: string, name: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith(name))
    .map((line) => line.slice(name.length))
    .toSorted();

describe("the state of clusters", () => {
  it("is text for problems", () => {
    const away = { sinceMs: 0, reason: "no answer" };
    assert.equal(
      awayText(away, true),
      "unreachable since 1970-01-01T00:00:00.000Z, the last known state is kept: no answer",
    );
    assert.equal(
      awayText(away, false),
      "unreachable since 1970-01-01T00:00:00.000Z, it was never read in full: no answer",
    );
  });

  it("is in the metrics as it is now, without clusters that are gone", async () => {
    const metrics = createMetrics();
    let clusters = [
      cluster("own", { type: "local" }),
      cluster("east", { syncStatus: "timeout", away: { sinceMs: 1_000, reason: "" } }),
    ];
    declareClusterGauges(
      metrics,
      () => clusters,
      () => 3_500,
    );
    const text = await metrics.text();
    assert.deepEqual(linesOf(text, "istiod_managed_clusters{"), [
      'cluster_type="local"} 1',
      'cluster_type="remote"} 1',
    ]);
    assert.deepEqual(linesOf(text, "flotilla_cluster_away_seconds{"), ['cluster="east"} 2.5', 'cluster="own"} 0']);
    assert.deepEqual(linesOf(text, 'istiod_remote_cluster_sync_status{cluster="east",'), [
      'cluster_type="remote",status="synced"} 0',
      'cluster_type="remote",status="syncing"} 0',
      'cluster_type="remote",status="timeout"} 1',
    ]);
    clusters = [cluster("own", { type: "local" })];
    const later = await metrics.text();
    assert.deepEqual(linesOf(later, "flotilla_cluster_away_seconds{"), ['cluster="own"} 0']);
    assert.deepEqual(linesOf(later, "istiod_managed_clusters{"), [
      'cluster_type="local"} 1',
      'cluster_type="remote"} 0',
    ]);
    assert.equal(linesOf(later, "istiod_remote_cluster_sync_status{").length, 3);
  });

  it("has counters by istiod's names", async () => {
    const metrics = createMetrics();
    const counters = declareClusterCounters(metrics);
    counters.secretEvents.add(1, { event: "add" });
    counters.syncTimeouts.add(2, { cluster: "east" });
    counters.syncErrors.add(3, { cluster: "east" });
    counters.objectEvents.add(4, { type: "Service", event: "update" });
    const text = await metrics.text();
    for (const line of [
      'remote_cluster_secret_events_total{event="add"} 1',
      'remote_cluster_sync_timeouts_total{cluster="east"} 2',
      'controller_sync_errors_total{cluster="east"} 3',
      'pilot_k8s_reg_events{type="Service",event="update"} 4',
    ])
      assert.ok(text.includes(line), line);
  });
});
