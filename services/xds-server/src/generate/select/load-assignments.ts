/** EDS: the endpoints of the clusters that a proxy subscribes to, and their selection and order. */
import { isPoolService } from "@flotilla/gateway-api";
import { type Labels, matchesLabels, ownClusterName, type Service } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import type { LocalityLoadBalancerSetting } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import {
  ClientTLSSettings_TLSmode as TlsMode,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { namespaceMutualTls } from "../../snapshot/scope/authn.ts";
import { calledEndpoints } from "../../snapshot/scope/called-endpoints.ts";
import { type EndpointScope, endpointScope, endpointsIn } from "../../snapshot/scope/discoverable-endpoints.ts";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { farCallsOf, sendsHbone } from "../../snapshot/scope/hbone.ts";
import { gatewaysBeforeNames, networkGateways } from "../../snapshot/scope/network-gateways.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createGenerator, type Generator, sharedSelection } from "../encode/generator.ts";
import { type EndpointInputs, noLocality, unknownCluster } from "../envoy/endpoints/endpoint-inputs.ts";
import { assignmentEndpoints } from "../envoy/endpoints/load-assignment.ts";
import type { FarCalls } from "../envoy/endpoints/reached-endpoint.ts";
import { type ClusterTarget, isByDns } from "./cluster-target.ts";
import { type IngressWaypoint, ingressWaypoint, waypointEndpoints } from "./ingress-waypoint.ts";
import { localityChoice } from "./locality-setting.ts";
import { ownTarget, ownWorkload } from "./own-cluster.ts";
import { keepsSessions } from "./persistent-session.ts";
import { clusterPolicy } from "./traffic-policy.ts";

type TargetOf = (view: View, name: string) => ClusterTarget | undefined;

/** @param label as of generators @param targetOf what the name of a cluster means */
export function loadAssignmentsOf(label: string, targetOf: TargetOf): Generator {
  return createGenerator<EndpointInputs, ClusterLoadAssignment>({
    typeUrl: typeUrl.endpoint,
    label,
    schema: ClusterLoadAssignmentSchema,
    select: (_, name) => unknownCluster(name),
    shared: sharedSelection({
      target: (view, name) => discovered(name === ownClusterName ? view.read(ownTarget) : targetOf(view, name)),
      select: (view, target) => endpointInputs(view, target),
    }),
    build: (inputs) =>
      create(ClusterLoadAssignmentSchema, { clusterName: inputs.clusterName, endpoints: assignmentEndpoints(inputs) }),
  });
}

/** Names that a proxy resolves itself are no endpoints. Source: istiod asked, a gRPC program that calls a service found by DNS. */
function discovered(target: ClusterTarget | undefined): ClusterTarget | undefined {
  return target === undefined || isByDns(target.service) ? undefined : target;
}

/** @param portNumber of the service, for endpoints that are part of the cluster */
export function endpointInputs(view: View, target: ClusterTarget, portNumber = 0): EndpointInputs {
  const { source, scope, waypoint, ...rules } = view.read(endpointRules, target);
  if (waypoint !== undefined) return { ...rules, shards: waypointEndpoints(view, waypoint), portNumber: 0 };
  const shards = scope === "all" ? calledEndpoints(view, source) : endpointsIn(view, source, scope);
  return { ...rules, shards, portNumber };
}

interface EndpointRules extends Omit<EndpointInputs, "shards" | "portNumber"> {
  readonly source: Service;
  readonly scope: EndpointScope;
  /** Whose endpoints are called instead of the service's. */
  readonly waypoint: IngressWaypoint | undefined;
}

/** Independent of the endpoints: a change of endpoints costs their selection alone. */
const endpointRules = query<EndpointRules, ClusterTarget>("endpoint-rules", (view, target) => {
  const { name: clusterName, service, port, subset, rule } = target;
  const policy = clusterPolicy(view, target);
  const gateways = view.read(isByDns(service) ? gatewaysBeforeNames : networkGateways);
  const farCalls = farCallsTo(view, service);
  const isFlat = gateways.size === 0 && farCalls === "direct-or-gateway";
  const waypoint = ingressWaypoint(view, target);
  return {
    ...{ clusterName, waypoint, source: service, scope: endpointScope(view, service) },
    portName: waypoint !== undefined || isPoolService(service.labels) ? undefined : port.name,
    subset: waypoint === undefined ? JSON.stringify(subsetLabels(rule, subset)) : "{}",
    sendsUnhealthy: sendsUnhealthy(view, service, policy),
    keepsSessions: keepsSessions(view, service.labels),
    namesWorkloads: view.feature("endpointTelemetryLabel") && view.feature("telemetryLabel"),
    node: service.kubernetes?.nodeLocal === true ? view.proxy.metadataText("NODE_NAME") : "",
    ...meshTls(view, target),
    needsMeshTls: target.passesTls,
    isDualStack: view.feature("dualStack"),
    tunnels: tunnelUse(view, target),
    behindWaypoint: waypoint?.destinations ?? "",
    farCalls,
    ownWorkload: target.isOwnWorkload ? ownWorkload(view) : "",
    network: isFlat ? "" : view.proxy.network,
    ipMode: isFlat ? "dual" : view.proxy.ipMode,
    resolvesNames: isByDns(service),
    remoteTarget:
      farCalls === "direct-or-gateway" || farCalls === "gateway-only" ? "" : `${service.hostname}:${port.number}`,
    networkView: view.read(networkView),
    gateways,
    ...(target.isOwnWorkload ? noLocality : localityInputs(view, service, policy)),
  };
});

/** A sidecar calls names of other networks directly, as in istiod. */
function farCallsTo(view: View, service: Service): FarCalls {
  const farCalls = farCallsOf(view);
  return farCalls === "gateway-only" && isByDns(service) ? "direct-or-gateway" : farCalls;
}

function tunnelUse(view: View, { layer, passesTls }: ClusterTarget): EndpointInputs["tunnels"] {
  if (layer !== undefined) return isEastWestGateway(view) ? "east-west" : "waypoint";
  if (passesTls || !sendsHbone(view)) return "none";
  return view.feature("preferHbone") ? "preferred" : "without-mesh-tls";
}

/** Gateways between networks lead to their own network only. */
const networkView = query<string>("network-view", (view) => view.proxy.metadataText("REQUESTED_NETWORK_VIEW"));

/** True where any endpoint stands for the target, ready or not. */
export function hasEndpoint(view: View, { service, port, subset, rule }: ClusterTarget): boolean {
  const labels = subsetLabels(rule, subset);
  return [...view.endpoints(service).values()]
    .flat()
    .some((endpoint) => endpoint.servicePortName === port.name && matchesLabels(labels, endpoint.labels));
}

/**
 * True where endpoints that are not ready are sent, as istiod does it: always when the switch or a traffic distribution asks for it;
 * otherwise not where Envoy may call any endpoint once too few are healthy.
 */
function sendsUnhealthy(view: View, service: Service, policy: TrafficPolicy | undefined): boolean {
  if (view.feature("sendUnhealthyEndpoints") || service.trafficDistribution !== undefined) return true;
  return view.feature("autoSendUnhealthyEndpoints") && (policy?.outlierDetection?.minHealthPercent ?? 0) === 0;
}

function subsetLabels(rule: ClusterTarget["rule"], subset: string): Labels {
  return subset === "" ? {} : (rule?.spec.subsets.find(({ name }) => name === subset)?.labels ?? {});
}

function meshTls(view: View, target: ClusterTarget) {
  const { service } = target;
  const mode = statedTlsMode(target);
  if (mode !== undefined) return { takesMeshTls: mode === TlsMode.ISTIO_MUTUAL, peers: undefined };
  return { takesMeshTls: true, peers: view.read(namespaceMutualTls, service.namespace) };
}

/** A rule's TLS mode for a port; here settings for a port without a TLS mode leave the one for all ports. */
function statedTlsMode({ rule, port, subset }: ClusterTarget): TlsMode | undefined {
  const ofSubset = subset === "" ? undefined : rule?.spec.subsets.find(({ name }) => name === subset)?.trafficPolicy;
  const modes = [ofSubset, rule?.spec.trafficPolicy].map((policy) => {
    const ofPort = policy?.portLevelSettings.find((one) => one.port?.number === port.number && one.tls !== undefined);
    return (ofPort?.tls ?? policy?.tls)?.mode;
  });
  return modes.find((mode) => mode !== undefined);
}

/** Failover needs a reason to leave an endpoint; shares do not. The proxy is asked only where there is something to do. */
function localityInputs(view: View, service: Service, policy: TrafficPolicy | undefined) {
  const { setting, isForced, zones } = localityChoice(policy, service, view.mesh);
  const isUsed = isForced || policy?.outlierDetection !== undefined || (setting?.distribute.length ?? 0) > 0;
  if (setting === undefined || !isUsed || (zones !== undefined && view.proxy.type === "waypoint")) return noLocality;
  const { region, zone, subzone } = view.proxy.locality;
  const own = setting.failoverPriority
    .filter((text) => !text.includes("="))
    .map((name) => [name, ownLabel(view, name)] as const);
  return {
    setting,
    failsOverBy: zones === undefined ? failoverOrder(setting) : ("region" as const),
    locality: [region, zone, subzone].join("/"),
    ownLabels: JSON.stringify(Object.fromEntries(own)),
  };
}

function failoverOrder({ failover }: LocalityLoadBalancerSetting): "distance" | "labels" {
  return failover.length > 0 ? "distance" : "labels";
}

function ownLabel({ proxy }: View, name: string): string {
  switch (name) {
    case "topology.kubernetes.io/region":
      return proxy.locality.region;
    case "topology.kubernetes.io/zone":
      return proxy.locality.zone;
    case "topology.istio.io/subzone":
      return proxy.locality.subzone;
    case "topology.istio.io/network":
      return proxy.network;
    case "topology.istio.io/cluster":
      return proxy.clusterId;
    case "kubernetes.io/hostname":
      return proxy.metadataText("NODE_NAME");
    default:
      return proxy.label(name) ?? "";
  }
}
