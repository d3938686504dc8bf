/** The endpoints of a cluster as one proxy calls them: by locality, with priorities, weights and gateways of other networks. */
import {
  canonicalName,
  canonicalRevision,
  compareText,
  type Endpoint,
  isIpAddress,
  type Labels,
  matchesLabels,
  ownValue,
  parseLocality,
  totalWeight,
  workloadMode,
} from "@flotilla/model";
import type { JsonObject, MessageInitShape } from "@flotilla/proto";
import { internalAddress, pipeAddress, socketAddress } from "@flotilla/proto/addresses";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import type { LocalityLbEndpointsSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_components_pb";
import { destinationMetadata } from "../hbone/internal-transport.ts";
import { type EndpointInputs, revisionOf } from "./endpoint-inputs.ts";
import { distribute, failover, failoverByLabels, type Group } from "./locality-priority.ts";
import {
  type ReachedEndpoint,
  splitHorizon,
  type Tunnel,
  type TunnelUse,
  throughWaypoint,
  type WaypointDestinations,
  withTunnel,
} from "./reached-endpoint.ts";

export function assignmentEndpoints(inputs: EndpointInputs): MessageInitShape<typeof LocalityLbEndpointsSchema>[] {
  const labels = JSON.parse(inputs.subset) as Labels;
  const served = [...inputs.shards.values()]
    .flat()
    .filter((endpoint) => isServed(endpoint, inputs, labels))
    .map((endpoint) => withTlsMode(endpoint, inputs));
  return prioritized(groupByLocality(served, inputs), inputs)
    .sort((a, b) => compareText(a.locality, b.locality) || a.priority - b.priority)
    .map(({ locality, members, weight, priority }) => {
      const { region, zone, subzone } = parseLocality(locality);
      return {
        locality: { region, zone, subZone: subzone },
        lbEndpoints: members.map((endpoint) => lbEndpoint(endpoint, inputs)),
        ...(weight > 0 && { loadBalancingWeight: weight }),
        priority,
      };
    });
}

/** All of first priority, in order of the localities' names; a locality stays in its place, even with nothing that can be called. */
function groupByLocality(endpoints: readonly Endpoint[], inputs: EndpointInputs): Group<ReachedEndpoint>[] {
  return [...Map.groupBy(endpoints, ({ locality }) => locality)]
    .sort(([a], [b]) => compareText(a, b))
    .map(([locality, found]) => {
      const members = reached(found, inputs);
      return { locality, members, weight: totalWeight(members), priority: 0 };
    });
}

/** In a mesh of one network without tunnels every endpoint that has an address is called directly. */
function reached(endpoints: readonly Endpoint[], inputs: EndpointInputs): readonly ReachedEndpoint[] {
  const { gateways, farCalls, tunnels, behindWaypoint, needsMeshTls } = inputs;
  let members: readonly ReachedEndpoint[] =
    gateways.size === 0 && farCalls === "direct-or-gateway"
      ? endpoints.filter(({ addresses }) => addresses[0] !== "")
      : splitHorizon(endpoints, inputs);
  const destinations = behindWaypoint === "" ? undefined : (JSON.parse(behindWaypoint) as WaypointDestinations);
  const carried = (one: ReachedEndpoint) =>
    destinations === undefined ? withTunnel(one, tunnels) : throughWaypoint(one, destinations);
  if (tunnels !== "none" || destinations !== undefined)
    members = members.map((one) => (one.tunnel === undefined ? carried(one) : one));
  return needsMeshTls ? members.filter(({ tlsMode }) => tlsMode === "istio") : members;
}

function prioritized(
  groups: Group<ReachedEndpoint>[],
  { setting, failsOverBy, locality, ownLabels }: EndpointInputs,
): Group<ReachedEndpoint>[] {
  if (setting === undefined) return groups;
  const own = parseLocality(locality);
  if (setting.distribute.length > 0) return distribute(groups, setting.distribute, own) ?? groups;
  const byPlace = (some: Group<ReachedEndpoint>[]) => failover(some, setting.failover, own, failsOverBy === "region");
  if (setting.failoverPriority.length === 0) return byPlace(groups);
  const values = JSON.parse(ownLabels) as Labels;
  const byLabels = failoverByLabels(groups, setting.failoverPriority, (name) => ownValue(values, name));
  return failsOverBy === "labels" ? byLabels : byPlace(byLabels);
}

/** Endpoints that the caller must not call by the mesh's TLS are marked as those that cannot. */
function withTlsMode(endpoint: Endpoint, { takesMeshTls, peers }: EndpointInputs): ReachedEndpoint {
  const isTaken = takesMeshTls && (!peers || workloadMode(peers, endpoint.labels, endpoint.port) !== "DISABLE");
  return isTaken || endpoint.tlsMode !== "istio" ? endpoint : { ...endpoint, tlsMode: "disabled", lostMeshTls: true };
}

type ServedInputs = Pick<
  EndpointInputs,
  "portName" | "portNumber" | "ownWorkload" | "node" | "networkView" | "sendsUnhealthy" | "keepsSessions"
>;

function isServed(endpoint: Endpoint, inputs: ServedInputs, labels: Labels): boolean {
  const { health, sendUnhealthy, servicePortName, servicePort = 0, nodeName } = endpoint;
  if (inputs.portNumber !== 0 && servicePort !== 0 && servicePort !== inputs.portNumber) return false;
  if (inputs.portName !== undefined && servicePortName !== inputs.portName) return false;
  if (!matchesLabels(labels, endpoint.labels)) return false;
  if (inputs.portNumber === 0 && isHostName(endpoint)) return false;
  if (inputs.ownWorkload !== "" && revisionOf(endpoint) !== inputs.ownWorkload) return false;
  if (inputs.node !== "" && nodeName !== inputs.node) return false;
  if (!isInView(endpoint.network, inputs.networkView)) return false;
  if (health === "healthy" || health === "unknown" || sendUnhealthy === true) return true;
  if (health === "draining") return inputs.keepsSessions;
  return health === "unhealthy" && inputs.sendsUnhealthy;
}

/**
 * Envoy takes no host names by EDS; those that are part of a cluster are found by DNS. A service found by EDS has such endpoints where a
 * ServiceEntry of its host names them. Source: scenario ambient/type-changes.
 */
function isHostName({ addresses: [address = ""] }: Endpoint): boolean {
  return address !== "" && !address.startsWith("/") && !isIpAddress(address);
}

function isInView(network: string, networkView: string): boolean {
  return networkView === "" || network === "" || networkView.split(",").includes(network);
}

const healthStatus: Readonly<Record<Endpoint["health"], HealthStatus>> = {
  healthy: HealthStatus.HEALTHY,
  unknown: HealthStatus.UNKNOWN,
  unhealthy: HealthStatus.UNHEALTHY,
  draining: HealthStatus.DRAINING,
  terminating: HealthStatus.UNHEALTHY,
};

type EndpointForm = Pick<EndpointInputs, "isDualStack" | "namesWorkloads" | "tunnels">;

function lbEndpoint(endpoint: ReachedEndpoint, { isDualStack, namesWorkloads, tunnels }: EndpointForm) {
  const { weight, health, tunnel } = endpoint;
  return {
    hostIdentifier: {
      case: "endpoint" as const,
      value: tunnel === undefined ? socketEndpoint(endpoint, isDualStack) : tunnelEndpoint(tunnel),
    },
    healthStatus: healthStatus[health],
    loadBalancingWeight: Math.max(weight, 1),
    metadata: {
      filterMetadata: {
        ...transportMatch(endpoint, tunnels),
        ...(tunnel && { [destinationMetadata]: tunnelDestination(tunnel) }),
        ...((namesWorkloads || tunnel?.target !== undefined) && {
          istio: {
            ...(namesWorkloads && workloadMetadata(endpoint)),
            ...(tunnel?.target !== undefined && { double_hbone: { hbone_target_address: tunnel.target } }),
          },
        }),
      },
    },
  };
}

function socketEndpoint({ addresses, port }: Endpoint, isDualStack: boolean) {
  const [address = "", ...others] = addresses;
  return {
    address: address.startsWith("/") ? pipeAddress(address) : socketAddress(address, port),
    ...(isDualStack && { additionalAddresses: others.map((other) => ({ address: socketAddress(other, port) })) }),
  };
}

function tunnelEndpoint({ listener, local, waypoint }: Tunnel) {
  return { address: internalAddress(listener, waypoint ?? local) };
}

function tunnelDestination({ local, waypoint }: Tunnel): JsonObject {
  return { local, ...(waypoint !== undefined && { waypoint }) };
}

function transportMatch({ tunnel, tlsMode }: ReachedEndpoint, tunnels: TunnelUse): { [key: string]: JsonObject } {
  const key = "envoy.transport_socket_match";
  if (tunnel !== undefined && tunnels !== "waypoint" && tunnels !== "east-west") return { [key]: { tunnel: "http" } };
  return tlsMode === "istio" ? { [key]: { tlsMode } } : {};
}

/** Telemetry of the caller names the workload by this. "latest" means the same as nothing. */
function workloadMetadata({ workloadName, namespace, labels, clusterId }: Endpoint): JsonObject {
  const service = canonicalName(labels, workloadName);
  const revision = canonicalRevision(labels);
  return {
    workload: [workloadName, namespace, service, revision === "latest" ? "" : revision, clusterId].join(";"),
  };
}
