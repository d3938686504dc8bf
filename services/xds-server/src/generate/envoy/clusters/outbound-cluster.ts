/** The cluster of one port, or subset, of a service in scope. */
import { create } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { Filter } from "@flotilla/proto/envoy/config/cluster/v3/filter_pb";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as TlsMode,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { zeroDuration } from "../duration.ts";
import { followingPicker } from "../filters/endpoint-picker.ts";
import { peerOfCluster } from "../hbone/baggage.ts";
import { clusterMetadata, metadataExchangeFilter } from "./cluster-parts.ts";
import { circuitBreakers, connectionOptions, httpOptions, speaksHttp2 } from "./connection-pool.ts";
import { dnsDiscovery, resolution } from "./dns-discovery.ts";
import { dynamicDiscovery } from "./dynamic-dns.ts";
import { commonLbConfig, loadBalancer } from "./load-balancer.ts";
import type { OutboundClusterInputs } from "./outbound-inputs.ts";
import { outlierDetection, outlierStatuses } from "./outlier-detection.ts";
import { mayUseSecret, transportSockets } from "./transport-sockets.ts";

export function buildOutboundCluster(inputs: OutboundClusterInputs): Cluster {
  const cluster = usualCluster(inputs);
  return inputs.followsPicker ? followingPicker(cluster) : cluster;
}

function usualCluster(inputs: OutboundClusterInputs): Cluster {
  const { name, altStatName, service, port, subset, policy, rule, isOriginalDestination, isDynamic, traits } = inputs;
  const pool = policy?.connectionPool;
  const { meshUpgrades, followsCallers: sniffs } = inputs;
  const protocol = { protocol: port.protocol, pool, meshUpgrades, sniffs, preservesCase: traits.preservesCase };
  const sockets = transportSockets(inputs, speaksHttp2(protocol), inputs.hbone);
  const isWithinWaypoint = inputs.hbone === "waypoint" || inputs.hbone === "east-west";
  return create(ClusterSchema, {
    name,
    altStatName,
    ...discovery(inputs),
    ...(isOriginalDestination || isDynamic
      ? { lbPolicy: LbPolicy.CLUSTER_PROVIDED, ...originalDestination(inputs) }
      : loadBalancer(policy?.loadBalancer, traits.hashesRedis && port.protocol === "Redis")),
    connectTimeout: inputs.connectTimeout ?? { seconds: 10n, nanos: 0 },
    circuitBreakers: circuitBreakers({ ...traits, pool, retryBudget: policy?.retryBudget }),
    ...connectionOptions(inputs.keepalive, pool?.tcp?.tcpKeepalive),
    ...(!isDynamic && {
      commonLbConfig: commonLbConfig({
        minHealthPercent: minHealthPercent(inputs),
        keepsSessions: inputs.keepsSessions && subset === "",
        zones: inputs.zones,
        weightsLocalities: inputs.hasLocality || traits.weighsLocalities,
      }),
    }),
    ...outlierDetection(policy?.outlierDetection),
    filters: clusterFilters(inputs),
    ...clusterMetadata({
      services: isWithinWaypoint || (traits.namesServices && !isDynamic) ? [service] : [],
      rule,
      subset,
      layer: inputs.layer,
      isAmbient: inputs.isAmbient && subset === "",
      isExternal: service.meshExternal && subset === "" && !isWithinWaypoint && !inputs.isAmbient,
      keepsAlpn: sockets.isStated && !isWithinWaypoint,
      hidesPeers: sockets.hidesPeers,
    }),
    ...httpOptions({
      ...protocol,
      ...automaticNames(inputs),
      // As in istiod, not within waypoints.
      outlierDetection: isWithinWaypoint ? undefined : outlierStatuses(policy?.outlierDetection),
    }),
    ...sockets.fields,
  });
}

function minHealthPercent({ traits, isDistributed, policy }: OutboundClusterInputs): number | undefined {
  if (traits.neverPanics || isDistributed) return 0;
  return policy?.outlierDetection?.minHealthPercent ?? (traits.keepsPanics ? undefined : 0);
}

/** Ends of tunnels are known by their baggage where endpoints are discovered. */
function clusterFilters({
  hbone,
  traits,
  isOriginalDestination,
  isDynamic,
  endpoints,
}: OutboundClusterInputs): Filter[] {
  const isDiscovered = !isOriginalDestination && !isDynamic && endpoints === undefined;
  return [
    ...(traits.exchangesMetadata && hbone !== "waypoint" && hbone !== "east-west"
      ? [metadataExchangeFilter(traits.exchangedLabels)]
      : []),
    ...(traits.carriesBaggage && hbone !== "off" && hbone !== "east-west" && isDiscovered ? [peerOfCluster] : []),
  ];
}

/** Without a name of its own in the rule, TLS is opened for the host of the request. */
function automaticNames(inputs: OutboundClusterInputs) {
  const { policy, isDynamic, autoMtlsMatches, mayUseSecrets } = inputs;
  if (inputs.passesTls) return {};
  const { mode, sni, subjectAltNames, insecureSkipVerify, credentialName = "" } = policy?.tls ?? {};
  if (policy?.tls === undefined && isDynamic && autoMtlsMatches === "by-endpoint")
    return { autoSni: true, autoSanValidation: true };
  if (!mayUseSecret(credentialName, mayUseSecrets)) return {};
  const isMeshTls = mode === TlsMode.ISTIO_MUTUAL && (isDynamic || inputs.files !== "");
  if (mode !== TlsMode.SIMPLE && mode !== TlsMode.MUTUAL && !isMeshTls) return {};
  const autoSni = sni === "";
  const isChecked = subjectAltNames?.length === 0 && insecureSkipVerify !== true;
  return { autoSni, autoSanValidation: (autoSni || isDynamic) && isChecked };
}

function hasOwnName(tls: ClientTLSSettings | undefined): boolean {
  return tls !== undefined && tls.mode !== TlsMode.DISABLE && tls.sni !== "";
}

function discovery(inputs: OutboundClusterInputs) {
  const { name, service, policy, endpoints, ipMode, dnsRefreshRate, traits } = inputs;
  if (inputs.isOriginalDestination)
    return {
      ...(inputs.keepsResolution && resolution({ ipMode, refreshRate: dnsRefreshRate, traits })),
      ...type(Discovery.ORIGINAL_DST),
    };
  if (inputs.isDynamic) {
    const cache = { hostname: service.hostname, ipMode, resolver: "" };
    // A name of its own or none to check: what Envoy would not accept of such a cluster otherwise.
    return dynamicDiscovery(cache, policy?.tls?.insecureSkipVerify === true || hasOwnName(policy?.tls));
  }
  if (endpoints !== undefined) {
    // Envoy races the addresses of one host only, and needs both families for it.
    const isRace = service.racesConnections === true;
    const isLogical = service.resolution === "dns-round-robin" || isRace;
    const families = isRace ? "dual" : ipMode;
    return dnsDiscovery({
      ...{ clusterName: name, endpoints, isLogical, ipMode: families, refreshRate: dnsRefreshRate, traits },
    });
  }
  const edsConfig = {
    configSourceSpecifier: { case: "ads" as const, value: {} },
    initialFetchTimeout: zeroDuration,
    resourceApiVersion: 2,
  };
  return { ...type(Discovery.EDS), edsClusterConfig: { serviceName: name, edsConfig } };
}

/** The address that the caller chose, at another port of it. */
function originalDestination({ upstreamPort: upstreamPortOverride, isOriginalDestination }: OutboundClusterInputs) {
  if (!isOriginalDestination || upstreamPortOverride === undefined) return {};
  return { lbConfig: { case: "originalDstLbConfig" as const, value: { upstreamPortOverride } } };
}

function type(value: Discovery) {
  return { clusterDiscoveryType: { case: "type" as const, value } };
}
