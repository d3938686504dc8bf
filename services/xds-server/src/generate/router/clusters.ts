/** CDS of a router: what its routes may lead to. Nothing leads to its own workload, and it keeps no caller's destination. */
import { type Duration, typeUrl } from "@flotilla/proto";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { createGenerator, sharedSelection } from "../encode/generator.ts";
import { blackHoleCluster } from "../envoy/clusters/cluster-parts.ts";
import { buildOutboundCluster } from "../envoy/clusters/outbound-cluster.ts";
import type { OutboundClusterInputs } from "../envoy/clusters/outbound-inputs.ts";
import { clusterTarget, outboundClusterNames } from "../select/cluster-names.ts";
import { selectOutboundCluster } from "../select/outbound-cluster.ts";

type ClusterInputs =
  | OutboundClusterInputs
  | { readonly kind: "black-hole"; readonly connectTimeout: Duration | undefined };

export const routerClusters = createGenerator<ClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  schema: ClusterSchema,
  names: (view) => [...view.read(outboundClusterNames), "BlackHoleCluster"],
  select: (view, name) =>
    name === "BlackHoleCluster" ? { kind: "black-hole", connectTimeout: view.mesh.connectTimeout } : undefined,
  shared: sharedSelection({ target: clusterTarget, select: selectOutboundCluster }),
  build: (inputs) =>
    inputs.kind === "outbound" ? buildOutboundCluster(inputs) : blackHoleCluster(inputs.connectTimeout),
});
