/** EDS: the endpoints of the clusters that a proxy asks for, by what its clusters' names mean. */
import { create, typeUrl } from "@flotilla/proto";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import type { View } from "../../snapshot/view.ts";
import { createGenerator, type Generator, sharedSelection } from "../encode/generator.ts";
import { type EndpointInputs, unknownCluster } from "../envoy/endpoints/endpoint-inputs.ts";
import { assignmentEndpoints } from "../envoy/endpoints/load-assignment.ts";
import type { ClusterTarget } from "./cluster-target.ts";
import { isByDns } from "./discovery-type.ts";
import { endpointInputs } from "./endpoint-inputs.ts";

type TargetOf = (view: View, name: string) => ClusterTarget | undefined;

/** @param label as of generators @param targetOf what the name of a cluster means */
export function loadAssignmentsOf(label: string, targetOf: TargetOf): Generator {
  return createGenerator<EndpointInputs, ClusterLoadAssignment>({
    typeUrl: typeUrl.endpoint,
    label,
    schema: ClusterLoadAssignmentSchema,
    select: (_, name) => unknownCluster(name),
    shared: sharedSelection({
      target: (view, name) => discovered(targetOf(view, name)),
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
