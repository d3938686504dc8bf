/** The cluster of one port, or subset, of a service in scope. */
import { isHttp2, type Service, type ServicePort, sniName } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  LoadBalancerSettings_SimpleLB as SimpleLb,
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import type { View } from "../../snapshot/view.ts";
import { assignmentEndpoints, type EndpointInputs, endpointInputs } from "../eds/load-assignment.ts";
import { zeroDuration } from "../shared/duration.ts";
import {
  circuitBreakers,
  clusterMetadata,
  http2Options,
  httpOptionsKey,
  metadataExchangeFilter,
} from "./cluster-parts.ts";
import { clusterTarget } from "./outbound-names.ts";
import { trafficPolicyOf } from "./traffic-policy.ts";
import { automaticTls, mutualTls } from "./upstream-tls.ts";

export interface OutboundClusterInputs {
  readonly kind: "outbound";
  readonly name: string;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  readonly policy: TrafficPolicy | undefined;
  /** Path of the DestinationRule in the Kubernetes API. */
  readonly rule: string | undefined;
  readonly connectTimeout: Duration | undefined;
  readonly autoMutualTls: boolean;
  readonly exchangesMetadata: boolean;
  readonly subjectAltNames: string;
  /** For services found by DNS: their endpoints are part of the cluster. */
  readonly endpoints: EndpointInputs | undefined;
}

export function selectOutboundCluster(
  view: View,
  name: string,
  exchangesMetadata: boolean,
): OutboundClusterInputs | undefined {
  const target = clusterTarget(view, name);
  if (target === undefined) return undefined;
  const { service, port, subset } = target;
  const rule = destinationRuleOf(view, service);
  const policy = rule && trafficPolicyOf(rule.spec, port.number, subset);
  const byDns = service.resolution === "dns" || service.resolution === "dns-round-robin";
  return {
    kind: "outbound",
    name,
    service,
    port,
    subset,
    policy,
    rule: rule && `/apis/networking.istio.io/v1/namespaces/${rule.key.namespace}/destination-rule/${rule.key.name}`,
    connectTimeout: policy?.connectionPool?.tcp?.connectTimeout ?? view.mesh.connectTimeout,
    autoMutualTls: view.mesh.enableAutoMtls !== false && !service.meshExternal,
    exchangesMetadata,
    subjectAltNames: identitiesOf(view, service).join("\n"),
    endpoints: byDns ? endpointInputs(view, name) : undefined,
  };
}

/** Who may stand behind a service: what it declares, else the identities of its endpoints. */
function identitiesOf(view: View, service: Service): readonly string[] {
  const endpoints = [...view.endpoints(service).values()].flat();
  const found = endpoints.map(({ serviceAccount }) => serviceAccount).filter((identity) => identity !== "");
  return [...new Set([...service.serviceAccounts, ...found])].sort();
}

export function buildOutboundCluster(inputs: OutboundClusterInputs): Cluster {
  const { name, service, port, subset, policy, rule, connectTimeout, exchangesMetadata } = inputs;
  const passthrough = service.resolution === "passthrough";
  const http2 = isHttp2(port.protocol);
  return create(ClusterSchema, {
    name,
    altStatName: `${name};`,
    ...discovery(inputs),
    lbPolicy: passthrough ? LbPolicy.CLUSTER_PROVIDED : lbPolicy(policy),
    connectTimeout: connectTimeout ?? { seconds: 10n, nanos: 0 },
    circuitBreakers: circuitBreakers(policy?.connectionPool),
    ...(!passthrough && { commonLbConfig: { healthyPanicThreshold: {} } }),
    ...(exchangesMetadata && { filters: [metadataExchangeFilter] }),
    metadata: clusterMetadata([service], rule === undefined ? undefined : { path: rule, subset }),
    ...(http2 && { typedExtensionProtocolOptions: { [httpOptionsKey]: http2Options } }),
    ...tls(inputs, http2),
  });
}

function discovery({ name, service, endpoints }: OutboundClusterInputs) {
  if (service.resolution === "passthrough") return type(Discovery.ORIGINAL_DST);
  if (endpoints !== undefined) {
    const found = service.resolution === "dns" ? Discovery.STRICT_DNS : Discovery.LOGICAL_DNS;
    return {
      ...type(found),
      dnsRefreshRate: { seconds: 60n, nanos: 0 },
      respectDnsTtl: true,
      loadAssignment: { clusterName: name, endpoints: assignmentEndpoints(endpoints) },
    };
  }
  const edsConfig = {
    configSourceSpecifier: { case: "ads" as const, value: {} },
    initialFetchTimeout: zeroDuration,
    resourceApiVersion: 2,
  };
  return { ...type(Discovery.EDS), edsClusterConfig: { serviceName: name, edsConfig } };
}

function type(value: Discovery) {
  return { clusterDiscoveryType: { case: "type" as const, value } };
}

function lbPolicy(policy: TrafficPolicy | undefined): LbPolicy {
  const balancer = policy?.loadBalancer?.lbPolicy;
  if (balancer?.case === "consistentHash") return LbPolicy.RING_HASH;
  switch (balancer?.case === "simple" ? balancer.value : undefined) {
    case SimpleLb.RANDOM:
      return LbPolicy.RANDOM;
    case SimpleLb.ROUND_ROBIN:
      return LbPolicy.ROUND_ROBIN;
    default:
      return LbPolicy.LEAST_REQUEST;
  }
}

function tls({ service, port, subset, policy, autoMutualTls, subjectAltNames }: OutboundClusterInputs, http2: boolean) {
  const stated = policy?.tls;
  const names = stated?.subjectAltNames.length
    ? stated.subjectAltNames
    : subjectAltNames.split("\n").filter((name) => name !== "");
  const mesh = {
    sni: stated?.sni || sniName("outbound", port.number, subset, service.hostname),
    subjectAltNames: names,
    http2,
  };
  if (stated === undefined) return autoMutualTls ? { transportSocketMatches: [...automaticTls(mesh)] } : {};
  return stated.mode === TlsMode.ISTIO_MUTUAL ? { transportSocket: mutualTls(mesh) } : {};
}
