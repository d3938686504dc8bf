/** EDS: the endpoints of one cluster, grouped by locality. */
import { compareText, type Endpoint, type Labels, matchesLabels, parseLocality } from "@flotilla/model";
import { create, type JsonObject, type MessageInitShape, typeUrl } from "@flotilla/proto";
import { HealthStatus } from "@flotilla/proto/envoy/config/core/v3/health_check_pb";
import type { LocalityLbEndpointsSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_components_pb";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import type { EndpointShards } from "../../snapshot/keys.ts";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import type { View } from "../../snapshot/view.ts";
import { clusterTarget } from "../cds/outbound-names.ts";
import { createGenerator } from "../generator.ts";
import { pipeAddress, socketAddress } from "../shared/address.ts";

export interface EndpointInputs {
  readonly clusterName: string;
  readonly shards: EndpointShards;
  readonly portName: string;
  /** JSON of the labels an endpoint must have. */
  readonly subset: string;
}

export const loadAssignments = createGenerator<EndpointInputs, ClusterLoadAssignment>({
  typeUrl: typeUrl.endpoint,
  schema: ClusterLoadAssignmentSchema,
  select: endpointInputs,
  build: (inputs) =>
    create(ClusterLoadAssignmentSchema, { clusterName: inputs.clusterName, endpoints: assignmentEndpoints(inputs) }),
});

/** Unknown clusters have an assignment too: an empty one, so that a client does not wait for it. */
export function endpointInputs(view: View, clusterName: string): EndpointInputs | undefined {
  const target = clusterTarget(view, clusterName);
  if (target === undefined) return { clusterName, shards: noShards, portName: "", subset: "{}" };
  const { service, port, subset } = target;
  const rule = subset === "" ? undefined : destinationRuleOf(view, service);
  const labels = rule?.spec.subsets.find(({ name }) => name === subset)?.labels ?? {};
  return { clusterName, shards: view.endpoints(service), portName: port.name, subset: JSON.stringify(labels) };
}

const noShards: EndpointShards = new Map();

export function assignmentEndpoints({
  shards,
  portName,
  subset,
}: EndpointInputs): MessageInitShape<typeof LocalityLbEndpointsSchema>[] {
  const labels = JSON.parse(subset) as Labels;
  const byLocality = new Map<string, Endpoint[]>();
  for (const endpoint of [...shards.values()].flat()) {
    const isServed = endpoint.health === "healthy" || endpoint.health === "unknown" || endpoint.sendUnhealthy === true;
    if (endpoint.servicePortName !== portName || !isServed || !matchesLabels(labels, endpoint.labels)) continue;
    byLocality.set(endpoint.locality, [...(byLocality.get(endpoint.locality) ?? []), endpoint]);
  }
  return [...byLocality]
    .sort(([a], [b]) => compareText(a, b))
    .map(([locality, members]) => {
      const { region, zone, subzone } = parseLocality(locality);
      return {
        locality: { region, zone, subZone: subzone },
        lbEndpoints: members.map(lbEndpoint),
        loadBalancingWeight: members.reduce((sum, { weight }) => sum + Math.max(weight, 1), 0),
      };
    });
}

const healthStatus: Readonly<Record<Endpoint["health"], HealthStatus>> = {
  healthy: HealthStatus.HEALTHY,
  unknown: HealthStatus.UNKNOWN,
  unhealthy: HealthStatus.UNHEALTHY,
  draining: HealthStatus.DRAINING,
  terminating: HealthStatus.UNHEALTHY,
};

function lbEndpoint({
  addresses: [address = ""],
  port,
  weight,
  tlsMode,
  workloadName,
  namespace,
  labels,
  clusterId,
  health,
}: Endpoint) {
  const service = labels["service.istio.io/canonical-name"] ?? labels["app"] ?? workloadName;
  const revision = labels["service.istio.io/canonical-revision"] ?? labels["version"] ?? "";
  const istio: JsonObject = { workload: [workloadName, namespace, service, revision, clusterId].join(";") };
  return {
    hostIdentifier: {
      case: "endpoint" as const,
      value: { address: address.startsWith("/") ? pipeAddress(address) : socketAddress(address, port) },
    },
    healthStatus: healthStatus[health],
    loadBalancingWeight: Math.max(weight, 1),
    metadata: {
      filterMetadata: { ...(tlsMode === "istio" && { "envoy.transport_socket_match": { tlsMode } }), istio },
    },
  };
}
