/** One endpoint as Envoy has it, and whether it is sent at all. */
import { type Endpoint, type Labels, matchesLabels } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import { pipeAddress, socketAddress } from "../address.ts";
import type { EndpointInputs } from "./endpoint-inputs.ts";

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

type EndpointForm = Pick<EndpointInputs, "isDualStack" | "namesWorkloads">;

export function lbEndpoint(endpoint: Endpoint, { isDualStack, namesWorkloads }: EndpointForm) {
  const { addresses, port, weight, tlsMode, health } = endpoint;
  const [address = "", ...others] = addresses;
  return {
    hostIdentifier: {
      case: "endpoint" as const,
      value: {
        address: address.startsWith("/") ? pipeAddress(address) : socketAddress(address, port),
        ...(isDualStack && { additionalAddresses: others.map((other) => ({ address: socketAddress(other, port) })) }),
      },
    },
    healthStatus: healthStatus[health],
    loadBalancingWeight: Math.max(weight, 1),
    metadata: {
      filterMetadata: {
        ...(tlsMode === "istio" && { "envoy.transport_socket_match": { tlsMode } }),
        ...(namesWorkloads && { istio: workloadMetadata(endpoint) }),
      },
    },
  };
}

/** Telemetry of the caller names the workload by this. "latest" says no more than nothing. */
function workloadMetadata({ workloadName, namespace, labels, clusterId }: Endpoint): JsonObject {
  const service = labels["service.istio.io/canonical-name"] ?? labels["app"] ?? workloadName;
  const revision = labels["service.istio.io/canonical-revision"] ?? labels["version"] ?? "";
  return {
    workload: [workloadName, namespace, service, revision === "latest" ? "" : revision, clusterId].join(";"),
  };
}
