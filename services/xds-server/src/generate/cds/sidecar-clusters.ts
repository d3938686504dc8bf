/** CDS of a sidecar: what it may call, what its workload serves, and where all other traffic goes. */
import { create, typeUrl } from "@flotilla/proto";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { View } from "../../snapshot/view.ts";
import { createGenerator } from "../generator.ts";
import { istioExtensions } from "../shared/istio-extensions.ts";
import { circuitBreakers, httpOptionsKey, metadataExchangeFilter, passthroughHttpOptions } from "./cluster-parts.ts";
import {
  buildInboundCluster,
  type InboundClusterInputs,
  inboundClusterNames,
  selectInboundCluster,
} from "./inbound-cluster.ts";
import { buildOutboundCluster, type OutboundClusterInputs, selectOutboundCluster } from "./outbound-cluster.ts";
import { outboundClusterNames } from "./outbound-names.ts";

interface FixedClusterInputs {
  readonly kind: "fixed";
  readonly name: "BlackHoleCluster" | "PassthroughCluster" | "InboundPassthroughCluster";
  readonly connectTimeoutSeconds: bigint;
  readonly exchangesMetadata: boolean;
  /** Where connections to the workload seem to come from, so that they are not redirected again. */
  readonly sourceAddress: string;
}

type ClusterInputs = OutboundClusterInputs | InboundClusterInputs | FixedClusterInputs;

const fixedNames = ["BlackHoleCluster", "PassthroughCluster", "InboundPassthroughCluster"] as const;

export const sidecarClusters = createGenerator<ClusterInputs, Cluster>({
  typeUrl: typeUrl.cluster,
  schema: ClusterSchema,
  names: (view) => [...view.read(outboundClusterNames), ...fixedNames, ...view.read(inboundClusterNames)],
  select,
  build,
});

function select(view: View, name: string): ClusterInputs | undefined {
  const exchangesMetadata =
    view.flag("PILOT_ENABLE_METADATA_EXCHANGE", true) && view.proxy.supports(istioExtensions.networkMetadataExchange);
  const fixed = fixedNames.find((one) => one === name);
  if (fixed === undefined) {
    return name.startsWith("inbound|")
      ? selectInboundCluster(view, name)
      : selectOutboundCluster(view, name, exchangesMetadata);
  }
  const sourceAddress = view.proxy.ipMode === "ipv6" ? "::6" : "127.0.0.6";
  return {
    kind: "fixed",
    name: fixed,
    connectTimeoutSeconds: view.mesh.connectTimeout?.seconds ?? 10n,
    exchangesMetadata,
    sourceAddress,
  };
}

function build(inputs: ClusterInputs): Cluster {
  if (inputs.kind === "outbound") return buildOutboundCluster(inputs);
  return inputs.kind === "inbound" ? buildInboundCluster(inputs) : buildFixed(inputs);
}

function buildFixed({ name, connectTimeoutSeconds, exchangesMetadata, sourceAddress }: FixedClusterInputs): Cluster {
  const connectTimeout = { seconds: connectTimeoutSeconds, nanos: 0 };
  if (name === "BlackHoleCluster") {
    return create(ClusterSchema, {
      name,
      altStatName: `${name};`,
      connectTimeout,
      clusterDiscoveryType: { case: "type", value: Discovery.STATIC },
    });
  }
  const isInbound = name === "InboundPassthroughCluster";
  return create(ClusterSchema, {
    name,
    altStatName: "PassthroughCluster;",
    connectTimeout,
    clusterDiscoveryType: { case: "type", value: Discovery.ORIGINAL_DST },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    circuitBreakers: circuitBreakers(),
    typedExtensionProtocolOptions: { [httpOptionsKey]: passthroughHttpOptions },
    ...(isInbound && {
      upstreamBindConfig: { sourceAddress: { address: sourceAddress, portSpecifier: { case: "portValue", value: 0 } } },
    }),
    ...(!isInbound && exchangesMetadata && { filters: [metadataExchangeFilter] }),
  });
}
