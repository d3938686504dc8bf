export { objectOf } from "./answer-forms.ts";
export { type ClusterWork, type ControlledCluster, inControlledClusters } from "./controlled-clusters.ts";
export type { KubeCredentials } from "./credentials.ts";
export { KubeError, type KubeErrorCode } from "./errors.ts";
export { type KubeApi, type KubeObject, openKubeApi } from "./kube-api.ts";
export {
  type ApiServerSettings,
  apiServerSettings,
  clusterOf,
  type KubeConfig,
  loadKubeConfig,
} from "./kube-config.ts";
export { followKubeconfigFiles } from "./kubeconfig-files.ts";
export {
  type FollowOptions,
  follow,
  listAll,
  listPages,
  type MirrorEvent,
  type MirrorOptions,
  mirror,
} from "./mirror.ts";
export type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  ConfigMap,
  Ingress,
  IngressClass,
  Lease,
  Node,
  Pod,
  Secret,
  Service,
  TokenReview,
} from "./objects.ts";
export { type ForwardedPod, type ForwardedPods, forwardPods, type PodTarget } from "./port-forward.ts";
export {
  clusterOfSecrets,
  clustersOfFiles,
  followNamedClusters,
  type RemoteCluster,
  type RemoteClusterRules,
  type RemoteClusterSettings,
  type RemoteClusters,
  type RemoteProblem,
  remoteClusterSettings,
  remoteClusters,
  remoteSecretsPath,
  type SecretObject,
} from "./remote-clusters.ts";
