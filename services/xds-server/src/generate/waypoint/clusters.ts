/** CDS and EDS of a waypoint: the services behind it, what its routes and policies lead to besides, and its tunnels. */
import { typeUrl } from "@flotilla/proto";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { isEastWestGateway } from "../../snapshot/scope/east-west.ts";
import { isServiceVisible } from "../../snapshot/scope/services.ts";
import { query } from "../../snapshot/view.ts";
import { createGenerator, sharedSelection } from "../encode/generator.ts";
import { buildCredentialSocket, type CredentialSocketInputs } from "../envoy/clusters/credential-socket.ts";
import { buildOutboundCluster } from "../envoy/clusters/outbound-cluster.ts";
import type { OutboundClusterInputs } from "../envoy/clusters/outbound-inputs.ts";
import { eastWestOutboundNames, passingClusterNames, waypointOutboundNames } from "../select/cluster-names.ts";
import { clusterTarget } from "../select/cluster-target.ts";
import { buildTunnelCluster, selectTunnelCluster, type TunnelClusterInputs, waypointTunnels } from "../select/hbone.ts";
import { loadAssignmentsOf } from "../select/load-assignments.ts";
import { selectOutboundCluster } from "../select/outbound-cluster.ts";
import { credentialSocketNames, selectCredentialSocket } from "../select/secret-server.ts";
import { vipClusterNames, vipTarget } from "./cluster-target.ts";

type ClusterInputs = OutboundClusterInputs | TunnelClusterInputs | CredentialSocketInputs;

const tunnelNames = query<readonly string[]>("waypoint-tunnel-names", (view) => [
  ...["main_internal", "encap", ...view.read(waypointTunnels)],
  ...(isEastWestGateway(view) ? ["BlackHoleCluster"] : []),
]);

/** An east-west gateway calls no services of its own accord: it leads TLS of its listeners to them. */
const otherNames = query<readonly string[]>("waypoint-other-names", (view) =>
  isEastWestGateway(view)
    ? [...view.read(eastWestOutboundNames), ...view.read(passingClusterNames)]
    : view.read(waypointOutboundNames),
);

export const waypointClusters = createGenerator<ClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  label: "waypoint ",
  schema: ClusterSchema,
  names: (view) => [
    ...view.read(otherNames),
    ...view.read(vipClusterNames),
    ...view.read(tunnelNames),
    ...view.read(credentialSocketNames),
  ],
  select: (view, name) =>
    view.read(tunnelNames).includes(name) ? selectTunnelCluster(view, name) : selectCredentialSocket(view, name),
  shared: sharedSelection({
    target: (view, name) => vipTarget(view, name) ?? clusterTarget(view, name),
    select: selectOutboundCluster,
  }),
  build: (inputs) => {
    if (inputs.kind === "credential-socket") return buildCredentialSocket(inputs);
    return inputs.kind === "outbound" ? buildOutboundCluster(inputs) : buildTunnelCluster(inputs);
  },
});

/** EDS: endpoints of the services behind the waypoint, and of those that it calls itself. */
export const waypointLoadAssignments = loadAssignmentsOf("waypoint ", (view, name) => {
  const own = vipTarget(view, name);
  if (own === undefined) return clusterTarget(view, name);
  // A service that is hidden from the waypoint's namespace has a cluster without endpoints, as in istiod.
  return isServiceVisible(view, own.service, view.proxy.namespace) ? own : undefined;
});
