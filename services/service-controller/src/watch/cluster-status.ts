/** State of each cluster and registry that is followed, for pages, problems and metrics. */
import { type Counter, type Metrics, seriesOf } from "@flotilla/runtime";

/** Words of istiod's `/debug/clusterz`. `timeout`: it was not read in full when the first snapshot could wait no longer. */
type SyncStatus = "synced" | "syncing" | "timeout";
/** How it stands with each cluster, for pages and metrics. */
const syncStatuses: readonly SyncStatus[] = ["synced", "syncing", "timeout"];

export interface ClusterStatus {
  readonly id: string;
  readonly type: "local" | "remote";
  /** `namespace/name` of the Secret that names it; empty for our own. */
  readonly secretName: string;
  readonly syncStatus: SyncStatus;
  /** The state held is as old as this: the cluster cannot be followed now. */
  readonly away: Away | undefined;
}

/** Since when something that is followed cannot be followed, and why. */
export interface Away {
  readonly sinceMs: number;
  readonly reason: string;
}

/** For the list of problems. @param isComplete it was read in full at least once */
export function awayText({ sinceMs, reason }: Away, isComplete: boolean): string {
  const kept = isComplete ? "the last known state is kept" : "it was never read in full";
  return `unreachable since ${new Date(sinceMs).toISOString()}, ${kept}: ${reason}`;
}

export interface ClusterCounters {
  readonly secretEvents: Counter<"event">;
  readonly syncTimeouts: Counter<"cluster">;
  readonly syncErrors: Counter<"cluster">;
  readonly objectEvents: Counter<"type" | "event">;
}

/** The metrics of clusters, with istiod's names where it has them. */
export function declareClusterCounters(metrics: Metrics): ClusterCounters {
  return {
    secretEvents: metrics.counter({
      name: "remote_cluster_secret_events_total",
      help: "Changes of Secrets that name other clusters, by event (add, update, delete).",
      labels: ["event"],
    }),
    objectEvents: metrics.counter({
      name: "pilot_k8s_reg_events",
      help: "Services, EndpointSlices, Pods and other objects of clusters added, updated and deleted, by kind.",
      labels: ["type", "event"],
    }),
    syncErrors: metrics.counter({
      name: "controller_sync_errors_total",
      help: "Times that a cluster could not be followed for another reason than before.",
      labels: ["cluster"],
    }),
    syncTimeouts: metrics.counter({
      name: "remote_cluster_sync_timeouts_total",
      help: "Clusters that the first snapshot did not wait for any longer.",
      labels: ["cluster"],
    }),
  };
}

/** Looked up when they are read. */
export function declareClusterGauges(
  metrics: Metrics,
  clusters: () => readonly ClusterStatus[],
  nowMs: () => number,
): void {
  metrics.gauge({
    name: "istiod_managed_clusters",
    help: "Clusters whose services are read, by cluster_type (local, remote).",
    labels: ["cluster_type"],
    collect: seriesOf(() =>
      (["local", "remote"] as const).map((one) => ({
        labels: { cluster_type: one },
        value: clusters().filter(({ type }) => type === one).length,
      })),
    ),
  });
  metrics.gauge({
    name: "istiod_remote_cluster_sync_status",
    help: "1 for the state (synced, syncing, timeout) that a cluster is in, 0 for the others.",
    labels: ["cluster", "cluster_type", "status"],
    collect: seriesOf(() =>
      clusters().flatMap(({ id, type, syncStatus }) =>
        syncStatuses.map((status) => ({
          labels: { cluster: id, cluster_type: type, status },
          value: status === syncStatus ? 1 : 0,
        })),
      ),
    ),
  });
  metrics.gauge({
    name: "flotilla_cluster_away_seconds",
    help: "Age of the last state of an unreachable cluster; 0 while it is reachable.",
    labels: ["cluster"],
    collect: seriesOf(() =>
      clusters().map(({ id, away }) => ({
        labels: { cluster: id },
        value: away === undefined ? 0 : (nowMs() - away.sinceMs) / 1_000,
      })),
    ),
  });
}
