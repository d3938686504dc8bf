/** `apiServerSettings` are those that `openApiServer` takes, for services that ask the API server nothing else. */
export { apiServerSettings } from "@flotilla/kube-api";
export { requestFromSigner, type SignerCall } from "./certificate-request.ts";
export {
  aliasesOf,
  type ClusterSettings,
  clusterSettings,
  type OwnCluster,
  type OwnClusterSettings,
  openApiServer,
  openOwnCluster,
  openPageReviewer,
  type PageReviewer,
} from "./open-cluster.ts";
export type { Account, ClusterAccount, ReviewSecretAccess, SecretVerdict } from "./secret-reviewer.ts";
export type { ClusterListener, RemoteTokenReviewersOptions } from "./token-reviewers.ts";
