export { requestFromSigner, type SignerCall } from "./certificate-request.ts";
export {
  type ApiServerSettings,
  apiServerSettings,
  type ClusterSettings,
  clusterSettings,
} from "./cluster-settings.ts";
export { type OwnCluster, type OwnClusterSettings, openApiServer, openOwnCluster } from "./open-cluster.ts";
export { type ClusterListener, RemoteJudges, type RemoteJudgesOptions } from "./remote-judges.ts";
