/** The cluster of one port, or subset, of a service in scope. */
import type { Service, ServicePort } from "@flotilla/model";
import { create, type Duration } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { MeshConfig_H2UpgradePolicy as MeshUpgrade } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { IpMode } from "../../snapshot/facets.ts";
import type { View } from "../../snapshot/view.ts";
import { type EndpointInputs, endpointInputs } from "../eds/load-assignment.ts";
import { zeroDuration } from "../shared/duration.ts";
import { localityChoice } from "../shared/locality-setting.ts";
import { keepsSessions } from "../shared/persistent-session.ts";
import { statName } from "../shared/stat-name.ts";
import { clusterMetadata, metadataExchangeFilter, rulePath } from "./cluster-parts.ts";
import { circuitBreakers, connectionOptions, httpOptions, speaksHttp2 } from "./connection-pool.ts";
import { dnsDiscovery } from "./dns-discovery.ts";
import { dynamicDiscovery } from "./dynamic-dns.ts";
import { canWeighLocalities, commonLbConfig, isPassthrough, loadBalancer } from "./load-balancer.ts";
import { clusterTarget } from "./outbound-names.ts";
import { outlierDetection } from "./outlier-detection.ts";
import { automaticTlsMode, clientFiles, upstreamIdentities } from "./tls-inputs.ts";
import { clusterPolicy } from "./traffic-policy.ts";
import { transportSockets } from "./transport-sockets.ts";

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
  /** Hosts below a wildcard, resolved as requests for them come. */
  readonly isDynamic: boolean;
  readonly automaticTls: "none" | "every-endpoint" | "by-endpoint";
  readonly exchangesMetadata: boolean;
  readonly subjectAltNames: string;
  /** Files of client certificates, one a line; empty for the agent's. */
  readonly files: string;
  readonly keepsSessions: boolean;
  readonly hasLocality: boolean;
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
  const { mesh, proxy } = view;
  const { rule, policy } = clusterPolicy(view, service, port.number, subset);
  const byDns = isByDns(service);
  const isDynamic = service.resolution === "dynamic-dns";
  const isOriginalDestination = followsOriginalDestination(view, service, policy);
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
    ipMode: byDns || isDynamic ? proxy.ipMode : "ipv4",
    isOriginalDestination,
    isDynamic,
    automaticTls: automaticTlsMode(view, service, port, isOriginalDestination),
    exchangesMetadata,
    subjectAltNames: upstreamIdentities(view, service).join("\n"),
    files: clientFiles(view),
    keepsSessions: keepsSessions(view, service.labels),
    ...localityInputs(view, service, policy),
    endpoints: byDns && !isOriginalDestination ? endpointInputs(view, name, port.number) : undefined,
  };
}

function isByDns({ resolution }: Service): boolean {
  return resolution === "dns" || resolution === "dns-round-robin";
}

function followsOriginalDestination(view: View, service: Service, policy: TrafficPolicy | undefined): boolean {
  if (isPassthrough(policy?.loadBalancer)) return true;
  if (service.resolution !== "passthrough") return false;
  return !(service.registry === "Kubernetes" && view.flag("PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES", false));
}

/** Localities are weighed where traffic may leave its own: the proxy is asked for its only there. */
function localityInputs(view: View, service: Service, policy: TrafficPolicy | undefined) {
  const { setting, isForced } = localityChoice(policy, service, view.mesh.localityLbSetting);
  const matters =
    setting !== undefined && (isForced || policy?.outlierDetection !== undefined || setting.distribute.length > 0);
  return { hasLocality: matters && view.proxy.locality.region !== "" };
}

export function buildOutboundCluster(inputs: OutboundClusterInputs): Cluster {
  const { name, altStatName, service, port, subset, policy, rule, isOriginalDestination, isDynamic } = inputs;
  const pool = policy?.connectionPool;
  const protocol = { protocol: port.protocol, pool, meshUpgrades: inputs.meshUpgrades };
  const sockets = transportSockets(inputs, speaksHttp2(protocol));
  return create(ClusterSchema, {
    name,
    altStatName,
    ...discovery(inputs),
    ...(isOriginalDestination || isDynamic
      ? { lbPolicy: LbPolicy.CLUSTER_PROVIDED }
      : loadBalancer(policy?.loadBalancer)),
    connectTimeout: inputs.connectTimeout ?? { seconds: 10n, nanos: 0 },
    circuitBreakers: circuitBreakers(pool, policy?.retryBudget),
    ...connectionOptions(inputs.keepalive, pool?.tcp?.tcpKeepalive),
    ...(!isDynamic && {
      commonLbConfig: commonLbConfig({
        minHealthPercent: policy?.outlierDetection?.minHealthPercent ?? 0,
        keepsSessions: inputs.keepsSessions,
        weightsLocalities: inputs.hasLocality && !isOriginalDestination && canWeighLocalities(policy?.loadBalancer),
      }),
    }),
    ...outlierDetection(policy?.outlierDetection),
    ...(inputs.exchangesMetadata && { filters: [metadataExchangeFilter] }),
    ...clusterMetadata({
      services: isDynamic ? [] : [service],
      rule,
      subset,
      isExternal: service.meshExternal && subset === "",
      keepsAlpn: sockets.isStated,
    }),
    ...httpOptions({ ...protocol, sniffs: true, ...automaticNames(policy, isDynamic) }),
    ...sockets.fields,
  });
}

/** Without a name of its own in the rule, TLS is opened for the host of the request. */
function automaticNames(policy: TrafficPolicy | undefined, isDynamic: boolean) {
  const { mode, sni, subjectAltNames, insecureSkipVerify } = policy?.tls ?? {};
  const isMeshTls = mode === TlsMode.ISTIO_MUTUAL && isDynamic;
  if (mode !== TlsMode.SIMPLE && mode !== TlsMode.MUTUAL && !isMeshTls) return {};
  const autoSni = sni === "";
  return { autoSni, autoSanValidation: autoSni && subjectAltNames?.length === 0 && insecureSkipVerify !== true };
}

function discovery(inputs: OutboundClusterInputs) {
  const { name, service, policy, endpoints, ipMode, dnsRefreshRate } = inputs;
  if (inputs.isOriginalDestination) return type(Discovery.ORIGINAL_DST);
  if (inputs.isDynamic) {
    const cache = { hostname: service.hostname, ipMode, resolver: "" };
    return dynamicDiscovery(cache, policy?.tls?.insecureSkipVerify === true);
  }
  if (endpoints !== undefined) {
    const isLogical = service.resolution === "dns-round-robin";
    return dnsDiscovery({ clusterName: name, endpoints, isLogical, ipMode, refreshRate: dnsRefreshRate });
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
