/** One endpoint as Envoy has it, and whether it is sent at all. */
import { type Endpoint, type Labels, matchesLabels } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import { internalAddress, pipeAddress, socketAddress } from "../address.ts";
import { destinationMetadata } from "../hbone/internal-transport.ts";
import type { EndpointInputs } from "./endpoint-inputs.ts";
import type { ReachedEndpoint, Tunnel, TunnelUse } from "./tunnels.ts";

type ServedInputs = Pick<
  EndpointInputs,
  "portName" | "portNumber" | "node" | "networkView" | "sendsUnhealthy" | "keepsSessions"
>;

export function isServed(endpoint: Endpoint, inputs: ServedInputs, labels: Labels): boolean {
  const { health, sendUnhealthy, servicePortName, servicePort = 0, nodeName } = endpoint;
  if (inputs.portNumber !== 0 && servicePort !== 0 && servicePort !== inputs.portNumber) return false;
  if (inputs.portName !== undefined && servicePortName !== inputs.portName) return false;
  if (!matchesLabels(labels, endpoint.labels)) return false;
  if (inputs.node !== "" && nodeName !== inputs.node) return false;
  if (!isInView(endpoint.network, inputs.networkView)) return false;
  if (health === "healthy" || health === "unknown" || sendUnhealthy === true) return true;
  if (health === "draining") return inputs.keepsSessions;
  return health === "unhealthy" && inputs.sendsUnhealthy;
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

export function lbEndpoint(endpoint: ReachedEndpoint, { isDualStack, namesWorkloads, tunnels }: EndpointForm) {
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
  if (tunnel !== undefined) return tunnels === "waypoint" ? {} : { [key]: { tunnel: "http" } };
  return tlsMode === "istio" ? { [key]: { tlsMode } } : {};
}

/** Telemetry of the caller names the workload by this. "latest" says no more than nothing. */
function workloadMetadata({ workloadName, namespace, labels, clusterId }: Endpoint): JsonObject {
  const service = labels["service.istio.io/canonical-name"] ?? labels["app"] ?? workloadName;
  const revision = labels["service.istio.io/canonical-revision"] ?? labels["version"] ?? "";
  return {
    workload: [workloadName, namespace, service, revision === "latest" ? "" : revision, clusterId].join(";"),
  };
}
