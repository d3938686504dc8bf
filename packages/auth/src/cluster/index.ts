export { type ClusterSettings, clusterSettings } from "./cluster-settings.ts";
export { type OwnCluster, openOwnCluster } from "./open-cluster.ts";
