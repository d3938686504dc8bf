/** CDS of a router: the destinations of its routes. None is its own workload, and it keeps no caller's destination. */
import { type Duration, typeUrl } from "@flotilla/proto";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { query } from "../../snapshot/view.ts";
import { createGenerator, sharedSelection } from "../encode/generator.ts";
import { blackHoleCluster } from "../envoy/clusters/cluster-parts.ts";
import { buildCredentialSocket, type CredentialSocketInputs } from "../envoy/clusters/credential-socket.ts";
import { buildOutboundCluster } from "../envoy/clusters/outbound-cluster.ts";
import type { OutboundClusterInputs } from "../envoy/clusters/outbound-inputs.ts";
import { Context } from "../patch/patch.ts";
import { outboundClusterNames, passingClusterNames } from "../select/cluster-names.ts";
import { clusterTarget } from "../select/cluster-target.ts";
import { gatewayListenerNames, gatewayListenerPlan } from "../select/gateway-listeners/listener-plans.ts";
import type { GatewayChain } from "../select/gateway-listeners/plan.ts";
import {
  buildTunnelCluster,
  isTunnelCluster,
  selectTunnelCluster,
  type TunnelClusterInputs,
  tunnelClusterNames,
} from "../select/hbone.ts";
import { selectOutboundCluster } from "../select/outbound-cluster.ts";
import { clusterPatching } from "../select/patching.ts";
import { credentialSocketNames, selectCredentialSocket } from "../select/secret-server.ts";

type ClusterInputs =
  | OutboundClusterInputs
  | TunnelClusterInputs
  | CredentialSocketInputs
  | { readonly kind: "black-hole"; readonly connectTimeout: Duration | undefined };

export const routerClusters = createGenerator<ClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  schema: ClusterSchema,
  names: (view) => [
    ...view.read(outboundClusterNames),
    ...view.read(datagramClusterNames),
    "BlackHoleCluster",
    ...view.read(tunnelClusterNames),
    ...view.read(credentialSocketNames),
    ...view.read(passingClusterNames),
  ],
  select: (view, name) => {
    if (name === "BlackHoleCluster") return { kind: "black-hole", connectTimeout: view.mesh.connectTimeout };
    return isTunnelCluster(view, name) ? selectTunnelCluster(view, name) : selectCredentialSocket(view, name);
  },
  shared: sharedSelection({ target: clusterTarget, select: selectOutboundCluster }),
  build: (inputs) => {
    if (inputs.kind === "tunnel") return buildTunnelCluster(inputs);
    if (inputs.kind === "credential-socket") return buildCredentialSocket(inputs);
    return inputs.kind === "outbound" ? buildOutboundCluster(inputs) : blackHoleCluster(inputs.connectTimeout);
  },
  patching: clusterPatching("router", () => ({ context: Context.GATEWAY, hosts: [] })),
});

/** Of the UDP ports that its listeners lead to, where no TCP port of the same number has the cluster already. */
const datagramClusterNames = query<readonly string[]>("datagram-cluster-names", (view) => {
  const targets = view.read(gatewayListenerNames).flatMap((name) => {
    const plan = view.read(gatewayListenerPlan, name);
    return plan?.transport === "udp" ? plan.chains.flatMap(clustersOf) : [];
  });
  return [...new Set(targets)].filter((name) => clusterTarget(view, name)?.port.protocol === "UDP");
});

function clustersOf(chain: GatewayChain): readonly string[] {
  if (chain.carries !== "tcp") return [];
  return typeof chain.clusters === "string" ? [chain.clusters] : chain.clusters.map(({ name }) => name);
}
