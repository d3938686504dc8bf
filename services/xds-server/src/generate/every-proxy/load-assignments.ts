/** EDS: the endpoints of the clusters that a proxy asks for. */
import { create, typeUrl } from "@flotilla/proto";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import type { View } from "../../snapshot/view.ts";
import { createGenerator, sharedSelection } from "../encode/generator.ts";
import { type EndpointInputs, unknownCluster } from "../envoy/endpoints/endpoint-inputs.ts";
import { assignmentEndpoints } from "../envoy/endpoints/load-assignment.ts";
import { clusterTarget } from "../select/cluster-names.ts";
import type { ClusterTarget } from "../select/cluster-target.ts";
import { isByDns } from "../select/discovery-type.ts";
import { endpointInputs } from "../select/endpoint-inputs.ts";

export const loadAssignments = createGenerator<EndpointInputs, ClusterLoadAssignment>({
  typeUrl: typeUrl.endpoint,
  schema: ClusterLoadAssignmentSchema,
  select: (_, name) => unknownCluster(name),
  shared: sharedSelection({ target: discoveredTarget, select: (view, target) => endpointInputs(view, target) }),
  build: (inputs) =>
    create(ClusterLoadAssignmentSchema, { clusterName: inputs.clusterName, endpoints: assignmentEndpoints(inputs) }),
});

/** Names that a proxy resolves itself are no endpoints. Source: istiod asked, a gRPC program that calls a service found by DNS. */
function discoveredTarget(view: View, name: string): ClusterTarget | undefined {
  const target = clusterTarget(view, name);
  return target === undefined || isByDns(target.service) ? undefined : target;
}
