/** HTTP filters of a sidecar, in Istio's order. Filters without varying parts are encoded once. */
import { type Any, create, pack } from "@flotilla/proto";
import { FilterConfigSchema as AlpnSchema } from "@flotilla/proto/contrib/envoy/extensions/filters/http/alpn/v3/alpn_pb";
import { CorsSchema } from "@flotilla/proto/envoy/extensions/filters/http/cors/v3/cors_pb";
import { HTTPFaultSchema } from "@flotilla/proto/envoy/extensions/filters/http/fault/v3/fault_pb";
import { FilterConfigSchema as GrpcStatsSchema } from "@flotilla/proto/envoy/extensions/filters/http/grpc_stats/v3/config_pb";
import { GrpcWebSchema } from "@flotilla/proto/envoy/extensions/filters/http/grpc_web/v3/grpc_web_pb";
import { RouterSchema } from "@flotilla/proto/envoy/extensions/filters/http/router/v3/router_pb";
import {
  type StatefulSession,
  StatefulSessionSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { additionalLabels, istioExtensions, typedStruct } from "../istio-extensions.ts";

/** The inputs that select the filters of a connection manager. */
export interface HttpFilterChoice {
  readonly direction: "inbound" | "outbound";
  /** Placed before all others. */
  readonly first?: readonly HttpFilter[];
  readonly suppressesEnvoyHeaders: boolean;
  /** Metadata of the workload is for the mesh only. */
  readonly staysInMesh: boolean;
  readonly peerMetadata: boolean;
  /** Labels that peers exchange beside the usual ones. */
  readonly exchangedLabels: readonly string[];
  readonly alpn: boolean;
  readonly grpcWeb: boolean;
  /** Placed before the grpc_stats filter: policies and extensions of the workload. */
  readonly early: readonly HttpFilter[];
  /** Placed right before the router: metrics, session state. */
  readonly late: readonly HttpFilter[];
}

export function httpFilters({
  direction,
  first = [],
  suppressesEnvoyHeaders: suppresses,
  staysInMesh,
  peerMetadata: exchangesMetadata,
  exchangedLabels: labels,
  alpn: overrides,
  grpcWeb: web,
  early,
  late,
}: HttpFilterChoice): HttpFilter[] {
  return [
    ...first,
    ...(exchangesMetadata
      ? [peerMetadata(staysInMesh && direction === "outbound" ? "outboundInMesh" : direction, labels)]
      : []),
    ...early,
    ...(web ? [grpcWeb] : []),
    grpcStats,
    ...(overrides && direction === "outbound" ? [alpn] : []),
    fault,
    cors,
    ...late,
    suppresses ? quietRouter : router,
  ];
}

const discovery = [{ istio_headers: {} }, { workload_discovery: {} }];
const propagation = [{ istio_headers: {} }];

const exchanges = {
  inbound: { downstream_discovery: discovery, downstream_propagation: propagation },
  outbound: { upstream_discovery: discovery, upstream_propagation: propagation },
  outboundInMesh: {
    upstream_discovery: discovery,
    upstream_propagation: [{ istio_headers: { skip_external_clusters: true } }],
  },
};

function peerMetadata(side: keyof typeof exchanges, labels: readonly string[]): HttpFilter {
  return labels.length === 0 ? plainPeerMetadata[side] : peerMetadataOf(side, labels);
}

function peerMetadataOf(side: keyof typeof exchanges, labels: readonly string[]): HttpFilter {
  const value = { ...exchanges[side], ...additionalLabels(labels) };
  return filter("istio.metadata_exchange", typedStruct(istioExtensions.httpPeerMetadata, value));
}

const plainPeerMetadata = {
  inbound: peerMetadataOf("inbound", []),
  outbound: peerMetadataOf("outbound", []),
  outboundInMesh: peerMetadataOf("outboundInMesh", []),
};

const grpcWeb = filter("envoy.filters.http.grpc_web", pack(GrpcWebSchema, create(GrpcWebSchema)));

const grpcStats = filter(
  "envoy.filters.http.grpc_stats",
  pack(
    GrpcStatsSchema,
    create(GrpcStatsSchema, {
      emitFilterState: true,
      perMethodStatSpecifier: { case: "statsForAllMethods", value: { value: false } },
    }),
  ),
);

/** Reports the upstream sidecar, in the TLS handshake, which protocol it will receive. */
const alpn = filter(
  "istio.alpn",
  pack(
    AlpnSchema,
    create(AlpnSchema, {
      alpnOverride: [
        { upstreamProtocol: 0, alpnOverride: ["istio-http/1.0", "istio", "http/1.0"] },
        { upstreamProtocol: 1, alpnOverride: ["istio-http/1.1", "istio", "http/1.1"] },
        { upstreamProtocol: 2, alpnOverride: ["istio-h2", "istio", "h2"] },
      ],
    }),
  ),
);

/** Does nothing by itself: virtual hosts of services that ask for sessions configure it. */
export const statefulSession = sessionFilter(create(StatefulSessionSchema));

export function sessionFilter(session: StatefulSession): HttpFilter {
  return filter("envoy.filters.http.stateful_session", pack(StatefulSessionSchema, session));
}

export const fault = filter("envoy.filters.http.fault", pack(HTTPFaultSchema, create(HTTPFaultSchema)));
const cors = filter("envoy.filters.http.cors", pack(CorsSchema, create(CorsSchema)));
export const router = filter("envoy.filters.http.router", pack(RouterSchema, create(RouterSchema)));
const quietRouter = filter(
  "envoy.filters.http.router",
  pack(RouterSchema, create(RouterSchema, { suppressEnvoyHeaders: true })),
);

function filter(name: string, value: Any): HttpFilter {
  return create(HttpFilterSchema, { name, configType: { case: "typedConfig", value } });
}
