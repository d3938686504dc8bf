/** Selects the parts of the cluster of one port, or subset, of a service in scope. */
import { isPoolService, parentsAnnotation } from "@flotilla/gateway-api";
import { isUnsupported, type Service } from "@flotilla/model";
import { MeshConfig_H2UpgradePolicy as MeshUpgrade } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { meshNetwork } from "../../snapshot/ambient/namespaces.ts";
import { calledEndpoints } from "../../snapshot/scope/called-endpoints.ts";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { clientCredential } from "../../snapshot/scope/gateway-credentials.ts";
import { opensTunnels } from "../../snapshot/scope/hbone.ts";
import type { View } from "../../snapshot/view.ts";
import { rulePath } from "../envoy/clusters/cluster-parts.ts";
import type { OutboundClusterInputs } from "../envoy/clusters/outbound-inputs.ts";
import { endsTunnelsItself } from "../envoy/endpoints/reached-endpoint.ts";
import { statName } from "../envoy/stat-name.ts";
import { automaticTlsMode, type ClusterTarget, clientFiles, isByDns, upstreamIdentities } from "./cluster-target.ts";
import { clusterTraits } from "./cluster-traits.ts";
import { followsOriginalDestination, isCalledByGateway } from "./discovery-type.ts";
import { resolvedFamilies } from "./dns.ts";
import { endpointInputs } from "./load-assignments.ts";
import { localityChoice } from "./locality-setting.ts";
import { keepsSessions } from "./persistent-session.ts";
import { clusterPolicy } from "./traffic-policy.ts";

/** Asks about the proxy only what proxies with the same target mostly answer alike. */
export function selectOutboundCluster(view: View, target: ClusterTarget): OutboundClusterInputs {
  const { name, service, port, subset, rule, passesTls, layer = "" } = target;
  const traits = view.read(clusterTraits);
  const { mesh } = view;
  const policy = clusterPolicy(view, target);
  const byDns = isByDns(service);
  const isDynamic = service.resolution === "dynamic-dns";
  const isOriginalDestination = followsOriginalDestination(view, target);
  const autoMtlsMatches = layer === "" ? automaticTlsMode(view, target, isOriginalDestination) : "none";
  return {
    kind: "outbound",
    name,
    altStatName: `${isDynamic || layer !== "" ? name : statName(mesh.outboundClusterStatName, name, { hostname: service.hostname, service, subset, port })};`,
    service,
    port,
    subset,
    passesTls,
    policy,
    // As in istiod, a waypoint's cluster names the rule where that sets something.
    rule: rule && (layer === "" || policy !== undefined) ? rulePath(rule.key) : undefined,
    mayUseSecrets:
      namesSecret(policy) &&
      (closesWithoutRoots(view, policy) || selectsWorkloads(rule) || view.proxy.type !== "sidecar"),
    clientCredential: showsCertificate(rule, policy) ? view.read(clientCredential) : "",
    connectTimeout: policy?.connectionPool?.tcp?.connectTimeout ?? mesh.connectTimeout,
    keepalive: mesh.tcpKeepalive,
    followsCallers: isUnsupported(port.protocol) && view.proxy.type !== "router",
    meshUpgrades: mesh.h2UpgradePolicy === MeshUpgrade.UPGRADE,
    dnsRefreshRate: byDns ? mesh.dnsRefreshRate : undefined,
    ipMode: byDns || isDynamic ? resolvedFamilies(view) : "ipv4",
    isOriginalDestination,
    upstreamPort: isCalledByGateway(view, target) ? undefined : service.passthroughTargetPorts?.[port.number],
    keepsResolution: byDns && isOriginalDestination && subset === "",
    isDynamic,
    autoMtlsMatches,
    hbone: hboneUse(view, target, isOriginalDestination && (policy?.tls !== undefined || autoMtlsMatches !== "none")),
    layer,
    isAmbient: layer === "" && isAmbient(view, service, port.name),
    traits,
    // Names that are resolved as requests come have no known identities. Source: istiod asked.
    subjectAltNames: isDynamic ? "" : upstreamIdentities(view, service).join("\n"),
    files: clientFiles(view, service),
    keepsSessions: keepsSessions(view, service.labels),
    followsPicker: isPoolService(service.labels) && view.proxy.type === "router",
    ...localityInputs(view, target, policy),
    endpoints: byDns && !isOriginalDestination ? endpointInputs(view, target, port.number) : undefined,
  };
}

/** @param isStated the transport of endpoints that callers choose themselves is decided for all: as in istiod, none of them is called by HBONE */
function hboneUse(view: View, { layer, passesTls }: ClusterTarget, isStated: boolean): OutboundClusterInputs["hbone"] {
  if (layer !== undefined) return isEastWestGateway(view) ? "east-west" : "waypoint";
  return !passesTls && !isStated && opensTunnels(view) ? "by-endpoint" : "off";
}

/** Workloads whose tunnels end before a sidecar could read the metadata that callers send. */
function isAmbient(view: View, service: Service, portName: string): boolean {
  if (!view.feature("ambient")) return false;
  const endpoints = [...calledEndpoints(view, service).values()]
    .flat()
    .filter(({ servicePortName }) => servicePortName === portName);
  const network = view.read(meshNetwork);
  return (
    endpoints.length > 0 &&
    endpoints.every((one) => one.takesHbone === true && (one.network === network || endsTunnelsItself(one)))
  );
}

/** The proxy's type is asked for only where it makes a difference: other clusters are shared by routers and sidecars. */
function namesSecret(policy: TrafficPolicy | undefined): boolean {
  return (policy?.tls?.credentialName ?? "") !== "";
}

/** The name of roots that do not exist hands out no Secret: nothing is found under it, and no connection opens (GHSA-qm8v-g4f9-qhjx). */
function closesWithoutRoots(view: View, policy: TrafficPolicy | undefined): boolean {
  return policy?.tls?.credentialName.startsWith("invalid://") === true && !view.feature("backendTlsFailsOpen");
}

/** BackendTLSPolicies have no client certificates of their own: a gateway shows its own to their back ends. */
function showsCertificate(rule: ClusterTarget["rule"], policy: TrafficPolicy | undefined): boolean {
  const parents = rule?.annotations[parentsAnnotation] ?? "";
  return policy?.tls?.mode === TlsMode.SIMPLE && parents.split(",").some((one) => one.startsWith("BackendTLSPolicy/"));
}

function selectsWorkloads(rule: ClusterTarget["rule"]): boolean {
  return rule?.spec.workloadSelector !== undefined;
}

/** Localities are weighed where traffic may leave its own by some rule, wherever the proxy is. */
function localityInputs(view: View, { service }: ClusterTarget, policy: TrafficPolicy | undefined) {
  const isDistributed = service.trafficDistribution !== undefined;
  const { setting, isForced, zones } = localityChoice(policy, service, view.mesh);
  // Waypoints are in no cluster of their own that Envoy could compare zones with.
  if (zones !== undefined)
    return { hasLocality: false, zones: view.proxy.type === "waypoint" ? undefined : zones, isDistributed };
  const failsOver = isForced || policy?.outlierDetection !== undefined;
  const { distribute = [], failover = [], failoverPriority = [] } = setting ?? {};
  const hasLocality = distribute.length > 0 || (failsOver && failover.length + failoverPriority.length > 0);
  return { hasLocality, zones, isDistributed };
}
