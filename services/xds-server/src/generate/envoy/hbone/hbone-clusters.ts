/** Clusters that lead to listeners of the same Envoy, and those that open HBONE tunnels. */
import { hbonePort } from "@flotilla/model";
import { create, type Duration, DurationSchema, pack } from "@flotilla/proto";
import { internalAddress } from "@flotilla/proto/addresses";
import {
  type Cluster,
  ClusterSchema,
  Cluster_DiscoveryType as Discovery,
  Cluster_LbPolicy as LbPolicy,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import type { Filter } from "@flotilla/proto/envoy/config/cluster/v3/filter_pb";
import type { TransportSocket } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { HttpProtocolOptionsSchema } from "@flotilla/proto/envoy/extensions/upstreams/http/v3/http_protocol_options_pb";
import {
  type CircuitBreakerInputs,
  circuitBreakers,
  httpOptionsKey,
  passthroughHttpOptions,
} from "../clusters/connection-pool.ts";
import { hboneClientTls, type TunnelTls } from "./hbone-tls.ts";
import { destinationMetadata, internalTransport, plainInternal } from "./internal-transport.ts";

/** The fields that tunnels have in common. */
export interface TunnelInputs extends TunnelTls {
  readonly connectTimeout: Duration | undefined;
  /** Of HTTP/2, in bytes; 0 for Envoy's own. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  readonly tracksRemaining: boolean;
  /** After which an unused tunnel is closed; undefined for an hour. */
  readonly idleTimeout: Duration | undefined;
}

export interface InternalClusterInputs {
  readonly name: string;
  /** Where connections arrive; undefined: that of the cluster's name. */
  readonly listener?: string;
  readonly filters?: readonly Filter[];
  /** Not for requests. */
  readonly isForConnections?: boolean;
  readonly tracksRemaining: boolean;
}

export function internalCluster(inputs: InternalClusterInputs): Cluster {
  const { name, listener = name, filters = [], isForConnections = false } = inputs;
  return create(ClusterSchema, {
    ...toListener(name, listener, inputs),
    transportSocket: plainInternal,
    filters: [...filters],
    ...(!isForConnections && { typedExtensionProtocolOptions: { [httpOptionsKey]: passthroughHttpOptions } }),
  });
}

/** Tunnels to the address that an endpoint stands for, or to the waypoint before it. */
export function connectOriginateCluster(inputs: TunnelInputs): Cluster {
  return create(ClusterSchema, {
    ...toDestination("connect_originate", inputs),
    lbConfig: throughWaypoint,
    typedExtensionProtocolOptions: tunnelOptions(inputs, {}),
  });
}

const throughWaypoint = {
  case: "originalDstLbConfig" as const,
  value: {
    upstreamPortOverride: hbonePort,
    metadataKey: {
      key: destinationMetadata,
      path: [{ segment: { case: "key" as const, value: "waypoint" } }],
    },
  },
};

/** Passes tunnels on to the workload, or the waypoint, that ends them: their TLS is the caller's. */
export function forwardInnerConnectCluster(inputs: TunnelInputs): Cluster {
  const { transportSocket: _, ...cluster } = toDestination("forward_inner_connect", inputs);
  return create(ClusterSchema, { ...cluster, lbConfig: throughWaypoint });
}

/** The tunnel within a tunnel to another network's gateway. */
export function innerConnectOriginateCluster(inputs: TunnelInputs): Cluster {
  const inner = hboneClientTls(inputs);
  return create(ClusterSchema, {
    ...toListener("inner_connect_originate", "outer_connect_originate", inputs),
    transportSocket: internalTransport({ name: "internal_upstream_with_tls", passes: [], inner }),
    typedExtensionProtocolOptions: tunnelOptions(inputs, oneRequest),
  });
}

/** Tunnels to another network's gateway. */
export function outerConnectOriginateCluster(inputs: TunnelInputs): Cluster {
  return create(ClusterSchema, {
    ...toDestination("outer_connect_originate", inputs),
    lbConfig: { case: "originalDstLbConfig", value: { upstreamPortOverride: hbonePort } },
    typedExtensionProtocolOptions: tunnelOptions(inputs, oneRequest),
  });
}

/** Tunnels in tunnels are not shared. */
const oneRequest = { maxRequestsPerConnection: 1 };

function toListener(name: string, listener: string, inputs: CircuitBreakerInputs) {
  const address = internalAddress(listener);
  return {
    name,
    altStatName: `${name};`,
    clusterDiscoveryType: { case: "type" as const, value: Discovery.STATIC },
    circuitBreakers: circuitBreakers(inputs),
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint" as const, value: { address } } }] }],
    },
  };
}

function toDestination(name: string, inputs: TunnelInputs) {
  const transportSocket: TransportSocket = hboneClientTls(inputs);
  return {
    name,
    altStatName: `${name};`,
    clusterDiscoveryType: { case: "type" as const, value: Discovery.ORIGINAL_DST },
    lbPolicy: LbPolicy.CLUSTER_PROVIDED,
    connectTimeout: inputs.connectTimeout ?? { seconds: 10n, nanos: 0 },
    cleanupInterval: { seconds: 60n, nanos: 0 },
    circuitBreakers: circuitBreakers(inputs),
    transportSocket,
  };
}

const anHour: Duration = create(DurationSchema, { seconds: 3_600n });

function tunnelOptions(
  { streamWindow, connectionWindow, idleTimeout = anHour }: TunnelInputs,
  common: { readonly maxRequestsPerConnection?: number },
) {
  const http2ProtocolOptions = {
    allowConnect: true,
    ...(streamWindow > 0 && { initialStreamWindowSize: streamWindow }),
    ...(connectionWindow > 0 && { initialConnectionWindowSize: connectionWindow }),
  };
  const message = create(HttpProtocolOptionsSchema, {
    commonHttpProtocolOptions: { idleTimeout, ...common },
    upstreamProtocolOptions: {
      case: "explicitHttpConfig",
      value: { protocolConfig: { case: "http2ProtocolOptions", value: http2ProtocolOptions } },
    },
  });
  return { [httpOptionsKey]: pack(HttpProtocolOptionsSchema, message) };
}
