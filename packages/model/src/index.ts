export {
  type AppliedSet,
  appliedText,
  type Cause,
  type Change,
  type ChangeGroup,
  type ConfigChange,
  causeId,
  causeText,
  type EndpointsChange,
  type ServiceChange,
  type WorkloadChange,
  writerOf,
} from "./change/change.ts";
export { causeShape, changeShape, configKeyShape, configShape } from "./change/change-shape.ts";
export {
  type Config,
  type ConfigKey,
  type ConfigKeyText,
  compareByAge,
  compareText,
  configKeyText,
  type Provenance,
  parseConfigKey,
} from "./config/config.ts";
export { equalJson } from "./config/equal.ts";
export {
  apiGroup,
  containsNull,
  creationTimeMs,
  type KubeMetadata,
  type KubeObject,
  type OwnerReference,
  objectKey,
  objectNameOf,
  withoutNulls,
} from "./config/kube-object.ts";
export { checkKubeObject } from "./config/kube-object-shape.ts";
export { isEmptySelector, type LabelSelector, matchesSelector } from "./config/label-selector.ts";
export { type Labels, matchesLabels } from "./config/selector.ts";
export {
  decodeProgress,
  encodeProgress,
  progressBucket,
  progressKey,
  registryKinds,
  type ServiceProgress,
} from "./distribution/progress.ts";
export {
  type DistributionReport,
  decodeDistribution,
  distributionBucket,
  distributionTtlMs,
  encodeDistribution,
  type ObjectFinding,
  type ObjectReach,
  type ProxyRefusal,
} from "./distribution/report.ts";
export {
  type Endpoint,
  type EndpointHealth,
  type EndpointsKey,
  endpointsKeyText,
  parseShard,
  totalWeight,
} from "./endpoint/endpoint.ts";
export { type Difference, jsonDifferences } from "./json/json-differences.ts";
export { isObject, objectsOf, ownValue } from "./json/own-value.ts";
export {
  anyObject,
  anything,
  decodeShape,
  flag,
  integer,
  listOf,
  number,
  objectOf,
  oneOfTexts,
  parseShape,
  recordOf,
  type Shape,
  text,
} from "./json/shape.ts";
export {
  type ClusterLocalInputs,
  type ClusterLocalRule,
  clusterLocalRules,
  isClusterLocal,
} from "./mesh/cluster-local.ts";
export { type DiscoverySelectors, discoverySelectors, isDiscovered } from "./mesh/discovery.ts";
export {
  effectiveProxyConfig,
  noProxyConfigs,
  type ProxyConfigLayers,
  proxyConfigLayers,
} from "./mesh/effective-proxy-config.ts";
export { applyMeshConfig, applyProxyConfig } from "./mesh/merge.ts";
export { defaultMeshConfig, defaultProxyConfig, type Json, type JsonObject } from "./mesh/mesh-config.ts";
export {
  type MutualTlsMode,
  type NamespaceMutualTls,
  type SelectedMutualTls,
  workloadMode,
} from "./mesh/mutual-tls.ts";
export {
  type GatewayAddress,
  type GatewayAddresses,
  type GatewayApiSpec,
  type GatewayOfNetwork,
  gatewayAddresses,
  gatewayOfNetwork,
  hbonePort,
  type NetworkGateway,
  remoteGatewayHost,
} from "./mesh/network-gateway.ts";
export { addressNumber, addressText, isIpAddress, isIpv4, isIpv6, parseCidr, rangeBits } from "./names/address.ts";
export { parseBoolean } from "./names/boolean-text.ts";
export { knownCipherSuites } from "./names/cipher-suites.ts";
export {
  type ClusterName,
  type ClusterNameParts,
  clusterName,
  type Direction,
  ownClusterName,
  parseClusterName,
  parseSniName,
  sniName,
} from "./names/cluster-name.ts";
export { type ClusterObjectName, clusterObjectName, parseClusterObjectName } from "./names/cluster-object-name.ts";
export {
  type CredentialName,
  type CredentialReference,
  credentialReferences,
  externalSecretName,
  isBase64,
  parseCredentialName,
  secretName,
  withoutRootSuffix,
  withRootsName,
} from "./names/credential-name.ts";
export { checksum, fnv1a } from "./names/fnv1a.ts";
export {
  clusterDomainOf,
  clusterSetDomain,
  compareSpecificity,
  type Hostname,
  hostCovers,
  hostsOverlap,
  isClusterSetHost,
  isWildcard,
  resolveShortName,
  serviceHostname,
} from "./names/host.ts";
export { nearestName } from "./names/nearest-name.ts";
export { maxNamespaceLength, type ObjectName, objectName, problemOfName } from "./names/object-name.ts";
export { quoteRegex } from "./names/regex.ts";
export { type Branded, type TextCodec, type TextOf, textCodec } from "./names/text-codec.ts";
export { NodeError, type NodeInfo, parseNode } from "./proxy/node.ts";
export {
  metadataFlag,
  metadataMap,
  metadataText,
  type NodeMetadata,
  type PodPort,
  podPorts,
} from "./proxy/node-metadata.ts";
export {
  compareIstioVersions,
  type IpMode,
  type IstioVersion,
  type Locality,
  localityText,
  type Proxy,
  type ProxyType,
  parseIstioVersion,
  parseLocality,
} from "./proxy/proxy.ts";
export {
  decodeRegisteredWorkloads,
  encodeRegisteredWorkloads,
  type RegisteredWorkload,
  type RegisteredWorkloadClaim,
  type RegisteredWorkloadKey,
  registeredWorkloadClaimText,
  registeredWorkloadKeyText,
  registrationReportBucket,
  registrationReportTtlMs,
} from "./proxy/registered-workload.ts";
export { isHttp, isHttp2, isTcp, isTls, isUnsupported, type Protocol, parseProtocol } from "./service/protocol.ts";
export {
  type KubernetesServiceTraits,
  type RegistryName,
  type RemoteGateway,
  type RemoteServiceTraits,
  type RemoteWaypoint,
  type Resolution,
  type Service,
  type ServiceKey,
  type ServicePort,
  serviceKeyText,
  takesAllocatedAddress,
  type Visibility,
} from "./service/service.ts";
export { configStore } from "./store/complete-store.ts";
export type { ConfigSchema, ConfigStore, DeleteOptions, StoreBackend } from "./store/config-store.ts";
export { StoreError, type StoreErrorCode } from "./store/store-error.ts";
export { created, expectVersion, updated, type WriteStamp, withStatus } from "./store/stored-config.ts";
export {
  canonicalName,
  canonicalNameLabel,
  canonicalRevision,
  canonicalRevisionLabel,
} from "./workload/canonical-service.ts";
export {
  type Workload,
  type WorkloadKey,
  type WorkloadKind,
  type WorkloadMembership,
  type WorkloadPort,
  type WorkloadTunnel,
  workloadKeyText,
  workloadUid,
} from "./workload/workload.ts";
