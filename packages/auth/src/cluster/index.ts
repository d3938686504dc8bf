export { type ClusterSettings, clusterSettings } from "./cluster-settings.ts";
export { type OwnCluster, type OwnClusterSettings, openOwnCluster } from "./open-cluster.ts";
export { type ClusterListener, RemoteJudges, type RemoteJudgesOptions } from "./remote-judges.ts";
