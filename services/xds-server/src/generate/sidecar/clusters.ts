/** CDS of a sidecar: its outbound and inbound clusters, and those of all other traffic. */

import type { IpMode } from "@flotilla/model";
import { create, type Duration, typeUrl } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type {
  ConnectionPoolSettings,
  ConnectionPoolSettings_TCPSettings_TcpKeepalive as TcpKeepalive,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import type { View } from "../../snapshot/view.ts";
import { createGenerator, sharedSelection } from "../encode/generator.ts";
import { blackHoleCluster, metadataExchangeFilter } from "../envoy/clusters/cluster-parts.ts";
import {
  casePreservingPassthrough,
  circuitBreakers,
  connectionOptions,
  httpOptionsKey,
  passthroughHttpOptions,
} from "../envoy/clusters/connection-pool.ts";
import { buildCredentialSocket, type CredentialSocketInputs } from "../envoy/clusters/credential-socket.ts";
import { buildUnknownHosts, type UnknownHostsInputs, unknownHostsCluster } from "../envoy/clusters/dynamic-dns.ts";
import { buildOutboundCluster } from "../envoy/clusters/outbound-cluster.ts";
import type { OutboundClusterInputs } from "../envoy/clusters/outbound-inputs.ts";
import { Context } from "../patch/patch.ts";
import { outboundClusterNames } from "../select/cluster-names.ts";
import { clusterTarget } from "../select/cluster-target.ts";
import { clusterTraits } from "../select/cluster-traits.ts";
import { unknownHostsDnsCache } from "../select/dns.ts";
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
import { meshPool } from "../select/traffic-policy.ts";
import {
  buildInboundCluster,
  type InboundClusterInputs,
  inboundClusterNames,
  inboundHosts,
  selectInboundCluster,
  sourceOfInbound,
} from "./inbound-cluster.ts";

interface FixedClusterInputs {
  readonly kind: "fixed";
  readonly name: "BlackHoleCluster" | "PassthroughCluster" | "InboundPassthroughCluster";
  readonly connectTimeout: Duration | undefined;
  readonly keepalive: TcpKeepalive | undefined;
  readonly exchangesMetadata: boolean;
  readonly ipMode: IpMode;
  readonly pool: ConnectionPoolSettings | undefined;
  readonly preservesCase: boolean;
  readonly tracksRemaining: boolean;
  readonly exchangedLabels: readonly string[];
}

type ClusterInputs =
  | OutboundClusterInputs
  | InboundClusterInputs
  | FixedClusterInputs
  | TunnelClusterInputs
  | CredentialSocketInputs
  | ({ readonly kind: "unknown-hosts" } & UnknownHostsInputs);

const fixedNames = ["BlackHoleCluster", "PassthroughCluster", "InboundPassthroughCluster"] as const;

export const sidecarClusters = createGenerator<ClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  schema: ClusterSchema,
  names: (view) => [
    ...view.read(outboundClusterNames),
    ...fixedNames,
    ...(view.read(fallbackCluster) === unknownHostsCluster ? [unknownHostsCluster] : []),
    ...view.read(inboundClusterNames),
    ...view.read(tunnelClusterNames),
    ...view.read(credentialSocketNames),
  ],
  select,
  shared: sharedSelection({ target: clusterTarget, select: selectOutboundCluster }),
  build,
  patching: clusterPatching("sidecar", (view, name) => {
    if (name.startsWith("inbound|")) return { context: Context.SIDECAR_INBOUND, hosts: inboundHosts(view, name) };
    const isInbound = name === "InboundPassthroughCluster";
    return { context: isInbound ? Context.SIDECAR_INBOUND : Context.SIDECAR_OUTBOUND, hosts: [] };
  }),
});

function select(view: View, name: string): ClusterInputs | undefined {
  const { exchangesMetadata, preservesCase, tracksRemaining, exchangedLabels } = view.read(clusterTraits);
  if (name === unknownHostsCluster) {
    const { connectTimeout, tcpKeepalive: keepalive } = view.mesh;
    return {
      kind: "unknown-hosts",
      cache: view.read(unknownHostsDnsCache),
      connectTimeout,
      keepalive,
      exchangesMetadata,
      tracksRemaining,
      exchangedLabels,
    };
  }
  if (isTunnelCluster(view, name)) return selectTunnelCluster(view, name);
  const fixed = fixedNames.find((one) => one === name);
  if (fixed === undefined)
    return name.startsWith("inbound|") ? selectInboundCluster(view, name) : selectCredentialSocket(view, name);
  const pool = meshPool(view);
  return {
    kind: "fixed",
    name: fixed,
    connectTimeout: (fixed === "BlackHoleCluster" ? undefined : pool?.tcp?.connectTimeout) ?? view.mesh.connectTimeout,
    keepalive: view.mesh.tcpKeepalive,
    exchangesMetadata,
    ipMode: view.proxy.ipMode,
    pool,
    preservesCase,
    tracksRemaining,
    exchangedLabels,
  };
}

function build(inputs: ClusterInputs): Cluster {
  switch (inputs.kind) {
    case "outbound":
      return buildOutboundCluster(inputs);
    case "inbound":
      return buildInboundCluster(inputs);
    case "unknown-hosts":
      return buildUnknownHosts(inputs);
    case "tunnel":
      return buildTunnelCluster(inputs);
    case "credential-socket":
      return buildCredentialSocket(inputs);
    case "fixed":
      return buildFixed(inputs);
  }
}

function buildFixed({
  name,
  exchangesMetadata,
  ipMode,
  keepalive,
  pool,
  preservesCase,
  tracksRemaining,
  exchangedLabels,
  ...inputs
}: FixedClusterInputs): Cluster {
  if (name === "BlackHoleCluster") return blackHoleCluster(inputs.connectTimeout);
  const isInbound = name === "InboundPassthroughCluster";
  return create(ClusterSchema, {
    name,
    altStatName: "PassthroughCluster;",
    connectTimeout: inputs.connectTimeout ?? { seconds: 10n, nanos: 0 },
    clusterDiscoveryType: { case: "type", value: Discovery.ORIGINAL_DST },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    circuitBreakers: circuitBreakers({ tracksRemaining, pool }),
    typedExtensionProtocolOptions: {
      [httpOptionsKey]: preservesCase ? casePreservingPassthrough : passthroughHttpOptions,
    },
    ...connectionOptions(keepalive, pool?.tcp?.tcpKeepalive),
    ...(isInbound && { upstreamBindConfig: sourceOfInbound(ipMode) }),
    ...(!isInbound && exchangesMetadata && { filters: [metadataExchangeFilter(exchangedLabels)] }),
  });
}
