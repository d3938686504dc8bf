/**
 * Istio's feature switches that decide what proxies get, by the names that istiod reads them under. This table is the one place
 * for their defaults; a generator asks the view for one by its name here. docs/settings.md is written from it.
 */
import { gatewayClassSettings } from "@flotilla/gateway-api";
import {
  complianceSetting,
  duration,
  flag,
  integer,
  oneOf,
  parseSettings,
  type SettingsOf,
  text,
  texts,
} from "@flotilla/runtime/settings";
import { ambientFeatures } from "./ambient-features.ts";
import { listenerFeatures } from "./listener-features.ts";

const scopeFeatures = {
  domainSuffix: text({
    env: "DOMAIN_SUFFIX",
    default: "cluster.local",
    sentence: "DNS suffix of Kubernetes services.",
  }),
  dualStack: flag({
    env: "ISTIO_DUAL_STACK",
    default: false,
    sentence: "Proxies with addresses of both families listen on both and resolve names to both.",
  }),
  ipAutoAllocate: flag({
    env: "PILOT_ENABLE_IP_AUTOALLOCATE",
    default: true,
    sentence: "Proxies use the addresses that ServiceEntries without an own one were given.",
  }),
  mcsServiceDiscovery: flag({
    env: "ENABLE_MCS_SERVICE_DISCOVERY",
    default: false,
    sentence: "Endpoints serve callers of their own cluster only, unless a ServiceExport names the service.",
  }),
  mcsClusterLocal: flag({
    env: "ENABLE_MCS_CLUSTER_LOCAL",
    default: false,
    sentence: "Hosts of the cluster's own domain lead to endpoints of the caller's cluster only.",
  }),
  pickBestServiceNamespace: flag({
    env: "PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE",
    default: true,
    sentence:
      "Of services with one hostname a Kubernetes service is used, or else the oldest; otherwise the first by namespace.",
  }),
  enhancedDestinationRuleMerge: flag({
    env: "ENABLE_ENHANCED_DESTINATIONRULE_MERGE",
    default: true,
    sentence:
      "DestinationRules of one host are merged only where the later one is exported to the same namespaces as the former or to more; otherwise whatever their exportTo.",
  }),
  discoverGatewayApiNetworkGateways: flag({
    env: "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API",
    default: true,
    sentence: "Labelled Gateways of the Gateway API are gateways of their network.",
  }),
  ...gatewayClassSettings,
  filterGatewayClusterConfig: flag({
    env: "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG",
    default: false,
    sentence: "Gateways have clusters only of services that their routes, providers or token issuers lead to.",
  }),
  detectsMisdirectedRequests: flag({
    env: "GATEWAY_MISDIRECTED_REQUESTS",
    default: false,
    sentence:
      "HTTPS listeners of the Gateway API answer requests for hosts of other listeners of their port with 421, as the specification asks; istiod does not. k8s/base switches it on.",
  }),
  onDemandCertificatesAbove: integer({
    env: "GATEWAY_ON_DEMAND_CERTIFICATES_ABOVE",
    default: 0,
    min: 0,
    max: 0xffff_ffff,
    sentence:
      "Listeners of gateways with more certificates than this fetch each one when the first client asks for its server; 0 for never, as istiod does. Needs an Envoy that has the selector for on-demand secrets.",
  }),
  scopedRoutesAbove: integer({
    env: "GATEWAY_SCOPED_ROUTES_ABOVE",
    default: 500,
    min: 0,
    max: 0xffff_ffff,
    sentence:
      "A router's route configuration with more virtual hosts than this, all without wildcards, is sent host by host (SRDS), so that Envoy builds only what changed; 0 for never, as istiod does. Needs an Envoy with Lua.",
  }),
  selectorsOfKubernetesGateways: flag({
    env: "ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY",
    default: true,
    sentence:
      "Policies with a selector or for a namespace hold for gateways of the Gateway API too; otherwise those with a targetRef only.",
  }),
  strictGatewayMerging: flag({
    env: "PILOT_ENABLE_STRICT_GATEWAY_MERGING",
    default: true,
    sentence:
      "A gateway that is deployed for Gateways of the Gateway API takes no Gateways of Istio from other namespaces than theirs.",
  }),
  resolvesNetworkGateways: flag({
    env: "RESOLVE_HOSTNAME_GATEWAYS",
    default: true,
    sentence:
      "Gateways of networks may be host names, which proxies resolve for services whose endpoints are names; otherwise those gateways are left out.",
  }),
  scopeGatewayToNamespace: flag({
    env: "PILOT_SCOPE_GATEWAY_TO_NAMESPACE",
    default: false,
    sentence: "Gateways select workloads of their own namespace only.",
  }),
} as const;

const endpointFeatures = {
  autoSendUnhealthyEndpoints: flag({
    env: "PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS",
    default: true,
    sentence: "Endpoints that are not ready are sent unless outlier detection sets minHealthPercent.",
  }),
  sendUnhealthyEndpoints: flag({
    env: "PILOT_SEND_UNHEALTHY_ENDPOINTS",
    default: false,
    sentence: "Endpoints that are not ready are always sent, and Envoy's panic threshold is off.",
  }),
  endpointTelemetryLabel: flag({
    env: "PILOT_ENDPOINT_TELEMETRY_LABEL",
    default: true,
    sentence: "Endpoints carry metadata of their workload for telemetry.",
  }),
  telemetryLabel: flag({
    env: "PILOT_ENABLE_TELEMETRY_LABEL",
    default: true,
    sentence: "Clusters and endpoints carry metadata for telemetry.",
  }),
  envoyFilterStats: flag({
    env: "PILOT_ENVOY_FILTER_STATS",
    default: false,
    sentence: "pilot_envoy_filter_status shows which EnvoyFilters have an effect, by kind of patch.",
  }),
  multiclusterHeadless: flag({
    env: "ENABLE_MULTICLUSTER_HEADLESS",
    default: true,
    sentence: "Names of headless services resolve to pods of every cluster, otherwise of the proxy's own.",
  }),
  edsForHeadlessServices: flag({
    env: "PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES",
    default: false,
    sentence: "Proxies balance the load of headless services; otherwise they connect to the address that was called.",
  }),
  persistentSessionFilter: flag({
    env: "PILOT_ENABLE_PERSISTENT_SESSION_FILTER",
    default: false,
    sentence: "Services with a label of a persistent session get it.",
  }),
  ingressNamespace: text({
    env: "K8S_INGRESS_NS",
    default: "istio-system",
    sentence: "Namespace of the gateway that Ingresses are served by.",
  }),
  persistentSessionLabel: text({
    env: "PILOT_PERSISTENT_SESSION_LABEL",
    default: "istio.io/persistent-session",
    sentence: "Label of services whose sessions are kept by a cookie.",
  }),
  persistentSessionHeaderLabel: text({
    env: "PILOT_PERSISTENT_SESSION_HEADER_LABEL",
    default: "istio.io/persistent-session-header",
    sentence: "Label of services whose sessions are kept by a header.",
  }),
} as const;

const routeFeatures = {
  absoluteFqdnDomains: flag({
    env: "PILOT_ENABLE_ABSOLUTE_FQDN_VHOST_DOMAIN",
    default: true,
    sentence: "Requests may name a host with the final dot.",
  }),
  disableShadowHostSuffix: flag({
    env: "DISABLE_SHADOW_HOST_SUFFIX",
    default: true,
    sentence: "The host of mirrored requests is left as it is; otherwise it gets the suffix -shadow.",
  }),
  mergesEqualRoutes: flag({
    env: "PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION",
    default: true,
    sentence: "Hosts of a gateway with the same routes share a virtual host.",
  }),
  clusterIpMatching: flag({
    env: "ENABLE_CLUSTER_IP_MATCHING",
    default: false,
    sentence:
      "HTTP requests to the ClusterIP of a Kubernetes service are that service's, whatever host they name, as the Gateway API has it for meshes; otherwise the host decides, as in istiod.",
  }),
} as const;

const clusterFeatures = {
  localityWeightedLb: flag({
    env: "ENABLE_LOCALITY_WEIGHTED_LB_CONFIG",
    default: false,
    sentence: "Every cluster weighs localities, otherwise those with a locality setting.",
  }),
  dnsUdpMaxQueries: integer({
    env: "PILOT_DNS_CARES_UDP_MAX_QUERIES",
    default: 100,
    min: 0,
    max: 0xffff_ffff,
    sentence: "Queries after which Envoy's DNS resolver opens a new socket; 0 for never.",
  }),
  dnsJitterMs: duration({
    env: "PILOT_DNS_JITTER_DURATION",
    default: 100,
    min: 0,
    sentence: "Jitter of periodic DNS resolution.",
  }),
  disableTrackRemaining: flag({
    env: "DISABLE_TRACK_REMAINING_CB_METRICS",
    default: true,
    sentence: "Circuit breakers keep no gauges of what is left below their limits.",
  }),
  grpcOutlierDetection: flag({
    env: "ENABLE_GRPC_OUTLIER_DETECTION",
    default: false,
    sentence:
      "gRPC programs without a proxy eject endpoints by DestinationRules; otherwise they keep them, as with istiod.",
  }),
} as const;

const securityFeatures = {
  ...complianceSetting,
  preferDestinationRuleTls: flag({
    env: "PREFER_DESTINATIONRULE_TLS_FOR_EXTERNAL_SERVICES",
    default: true,
    sentence: "TLS settings of a DestinationRule win over those of their endpoints for external services.",
  }),
  backendTlsFailsOpen: flag({
    env: "BACKEND_TLS_FAILS_OPEN",
    default: false,
    sentence:
      "Sidecars call back ends in plain text where the roots of their BackendTLSPolicy do not exist, as istiod did before 1.31.1; otherwise such connections fail.",
  }),
  skipValidateTrustDomain: flag({
    env: "PILOT_SKIP_VALIDATE_TRUST_DOMAIN",
    default: false,
    sentence: "Callers of any trust domain whose certificate is trusted are let in.",
  }),
  providerHeaderValues: texts({
    env: "PROVIDER_HEADER_VALUES",
    default: {},
    secret: true,
    sentence:
      'Values of the headers that extension providers of MeshConfig take by envName, such as {"API_KEY":"abc"}; other variables are not read for them.',
  }),
  severalCustomProviders: flag({
    env: "PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS",
    default: false,
    sentence:
      "A workload may have CUSTOM policies of several providers, each of which is asked for its own; otherwise what they match is denied.",
  }),
  remoteJwks: oneOf({
    env: "PILOT_JWT_ENABLE_REMOTE_JWKS",
    default: "false",
    values: ["false", "istiod", "true", "hybrid", "envoy"],
    sentence:
      "Component that fetches keys of issuers by URI. false, istiod: the control plane. true, hybrid: proxies, where the host is a service of the mesh. envoy: proxies.",
  }),
} as const;

export const featureSettings = {
  ...scopeFeatures,
  ...endpointFeatures,
  ...ambientFeatures,
  ...listenerFeatures,
  ...routeFeatures,
  ...clusterFeatures,
  ...securityFeatures,
} as const;

export type Features = SettingsOf<typeof featureSettings>;
export type FeatureName = keyof Features;
export const featureNames = Object.keys(featureSettings) as readonly FeatureName[];

/** @throws RuntimeError SETTINGS_INVALID that lists all wrong ones */
export function parseFeatures(env: Readonly<Record<string, string | undefined>>): Features {
  return parseSettings(featureSettings, env);
}

export const defaultFeatures: Features = parseFeatures({});
