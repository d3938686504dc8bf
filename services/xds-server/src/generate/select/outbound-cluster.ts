/** What the cluster of one port, or subset, of a service in scope is made of. */
import type { Service, ServicePort } from "@flotilla/model";
import type { Duration } from "@flotilla/proto";
import { MeshConfig_H2UpgradePolicy as MeshUpgrade } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type {
  ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
  TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { IpMode } from "../../snapshot/facets.ts";
import type { View } from "../../snapshot/view.ts";
import { rulePath } from "../envoy/clusters/cluster-parts.ts";
import { resolvedFamilies } from "../envoy/clusters/dns-cache.ts";
import { statName } from "../envoy/stat-name.ts";
import type { ClusterTarget } from "./cluster-target.ts";
import { type ClusterTraits, clusterTraits } from "./cluster-traits.ts";
import { followsOriginalDestination, isByDns } from "./discovery-type.ts";
import { type EndpointInputs, endpointInputs } from "./endpoint-inputs.ts";
import { localityChoice } from "./locality-setting.ts";
import { keepsSessions } from "./persistent-session.ts";
import { clusterPolicy } from "./traffic-policy.ts";
import { automaticTlsMode, clientFiles, upstreamIdentities } from "./upstream-identities.ts";

export interface OutboundClusterInputs {
  readonly kind: "outbound";
  readonly name: string;
  readonly altStatName: string;
  readonly service: Service;
  readonly port: ServicePort;
  readonly subset: string;
  readonly policy: TrafficPolicy | undefined;
  /** Path of the DestinationRule in the Kubernetes API. */
  readonly rule: string | undefined;
  readonly selectsWorkloads: boolean;
  readonly connectTimeout: Duration | undefined;
  readonly keepalive: TcpKeepalive | undefined;
  readonly meshUpgrades: boolean;
  readonly dnsRefreshRate: Duration | undefined;
  readonly ipMode: IpMode;
  readonly isOriginalDestination: boolean;
  /** A service found by DNS, whose rule says to go where the connection was going: it keeps how names are resolved. */
  readonly keepsResolution: boolean;
  /** Hosts below a wildcard, resolved as requests for them come. */
  readonly isDynamic: boolean;
  readonly automaticTls: "none" | "every-endpoint" | "by-endpoint";
  readonly traits: ClusterTraits;
  readonly subjectAltNames: string;
  /** Files of client certificates, one a line; empty for the agent's. */
  readonly files: string;
  readonly keepsSessions: boolean;
  readonly hasLocality: boolean;
  /** A subset of a service with a traffic distribution of its own: istiod forgets its panic threshold. */
  readonly isDistributedSubset: boolean;
  /** For services found by DNS: their endpoints are part of the cluster. */
  readonly endpoints: EndpointInputs | undefined;
}

/** Asks about the proxy only what proxies with the same target mostly answer alike. */
export function selectOutboundCluster(view: View, target: ClusterTarget): OutboundClusterInputs {
  const { name, service, port, subset, rule } = target;
  const traits = view.read(clusterTraits);
  const { mesh } = view;
  const policy = clusterPolicy(view, target);
  const byDns = isByDns(service);
  const isDynamic = service.resolution === "dynamic-dns";
  const isOriginalDestination = followsOriginalDestination(view, target);
  return {
    kind: "outbound",
    name,
    altStatName: `${statName(mesh.outboundClusterStatName, name, { hostname: service.hostname, service, subset, port })};`,
    service,
    port,
    subset,
    policy,
    rule: rule && rulePath(rule.key),
    selectsWorkloads: rule?.spec.workloadSelector !== undefined,
    connectTimeout: policy?.connectionPool?.tcp?.connectTimeout ?? mesh.connectTimeout,
    keepalive: mesh.tcpKeepalive,
    meshUpgrades: mesh.h2UpgradePolicy === MeshUpgrade.UPGRADE,
    dnsRefreshRate: byDns ? mesh.dnsRefreshRate : undefined,
    ipMode: byDns || isDynamic ? resolvedFamilies(view) : "ipv4",
    isOriginalDestination,
    keepsResolution: byDns && isOriginalDestination && subset === "",
    isDynamic,
    automaticTls: automaticTlsMode(view, target, isOriginalDestination),
    traits,
    // Names that are resolved as requests come are whoever answers to them. Source: istiod asked.
    subjectAltNames: isDynamic ? "" : upstreamIdentities(view, service).join("\n"),
    files: clientFiles(view, service),
    keepsSessions: keepsSessions(view, service.labels),
    ...localityInputs(view, target, policy),
    endpoints: byDns && !isOriginalDestination ? endpointInputs(view, target, port.number) : undefined,
  };
}

/** Localities are weighed where traffic may leave its own by some rule, wherever the proxy is. */
function localityInputs(view: View, { service, subset }: ClusterTarget, policy: TrafficPolicy | undefined) {
  const { setting, isForced } = localityChoice(policy, service, view.mesh.localityLbSetting);
  const failsOver = isForced || policy?.outlierDetection !== undefined;
  const { distribute = [], failover = [], failoverPriority = [] } = setting ?? {};
  const hasLocality = distribute.length > 0 || (failsOver && failover.length + failoverPriority.length > 0);
  return { hasLocality, isDistributedSubset: service.trafficDistribution !== undefined && subset !== "" };
}
