/** How it stands with each cluster, for pages and metrics. */
import type { Away } from "./away.ts";

/** Words of istiod's `/debug/clusterz`. `timeout`: it was not read in full when the first snapshot could wait no longer. */
export type SyncStatus = "synced" | "syncing" | "timeout";
export const syncStatuses: readonly SyncStatus[] = ["synced", "syncing", "timeout"];

export interface ClusterStatus {
  readonly id: string;
  readonly type: "local" | "remote";
  /** `namespace/name` of the Secret that names it; empty for our own. */
  readonly secretName: string;
  readonly syncStatus: SyncStatus;
  /** What is known is as old as this: it cannot be followed now. */
  readonly away: Away | undefined;
}
