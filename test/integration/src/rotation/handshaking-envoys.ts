/** Two Envoys with fixed listeners between which every request needs a TLS handshake of its own. */
import type { JsonObject } from "@flotilla/proto";

const typed = (type: string, rest: JsonObject): JsonObject => ({
  "@type": `type.googleapis.com/envoy.${type}`,
  ...rest,
});
const socket = (port: number): JsonObject => ({ socket_address: { address: "127.0.0.1", port_value: port } });
const overSds: JsonObject = {
  resource_api_version: "V3",
  api_config_source: {
    api_type: "GRPC",
    transport_api_version: "V3",
    grpc_services: [{ envoy_grpc: { cluster_name: "sds" } }],
  },
};

function commonTls(peer: string): JsonObject {
  return {
    tls_certificate_sds_secret_configs: [{ name: "default", sds_config: overSds }],
    combined_validation_context: {
      default_validation_context: {
        match_typed_subject_alt_names: [{ san_type: "URI", matcher: { exact: peer } }],
      },
      validation_context_sds_secret_config: { name: "ROOTCA", sds_config: overSds },
    },
  };
}

function bootstrap(listener: JsonObject, cluster: JsonObject, secretSocket: string): JsonObject {
  return {
    admin: { address: socket(0) },
    node: { id: "handshakes", cluster: "handshakes" },
    static_resources: {
      listeners: [listener],
      clusters: [
        cluster,
        {
          name: "sds",
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(
              "extensions.upstreams.http.v3.HttpProtocolOptions",
              { explicit_http_config: { http2_protocol_options: {} } },
            ),
          },
          load_assignment: assignment("sds", { pipe: { path: secretSocket } }),
        },
      ],
    },
  };
}

function assignment(name: string, address: JsonObject): JsonObject {
  return { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] };
}

function listenerTo(cluster: string, port: number, tls?: JsonObject): JsonObject {
  const manager = typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    stat_prefix: cluster,
    route_config: {
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster } }] }],
    },
    http_filters: [{ name: "router", typed_config: typed("extensions.filters.http.router.v3.Router", {}) }],
  });
  return {
    name: cluster,
    address: socket(port),
    filter_chains: [
      {
        filters: [{ name: "http", typed_config: manager }],
        ...(tls && { transport_socket: { name: "tls", typed_config: tls } }),
      },
    ],
  };
}

export interface Side {
  readonly port: number;
  /** Where requests go to. */
  readonly target: number;
  readonly secretSocket: string;
  /** Whom the other side must prove to be. */
  readonly peer: string;
}

export function clientBootstrap({ port, target, secretSocket, peer }: Side): JsonObject {
  const tls = typed("extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
    common_tls_context: commonTls(peer),
    // No session is resumed: each connection proves both sides again.
    max_session_keys: 0,
  });
  const oneRequest = typed("extensions.upstreams.http.v3.HttpProtocolOptions", {
    explicit_http_config: { http_protocol_options: {} },
    common_http_protocol_options: { max_requests_per_connection: 1 },
  });
  const cluster = {
    name: "server",
    type: "STATIC",
    load_assignment: assignment("server", socket(target)),
    transport_socket: { name: "tls", typed_config: tls },
    typed_extension_protocol_options: { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": oneRequest },
  };
  return bootstrap(listenerTo("server", port), cluster, secretSocket);
}

export function serverBootstrap({ port, target, secretSocket, peer }: Side): JsonObject {
  const tls = typed("extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
    common_tls_context: commonTls(peer),
    require_client_certificate: true,
    disable_stateless_session_resumption: true,
  });
  const cluster = { name: "app", type: "STATIC", load_assignment: assignment("app", socket(target)) };
  return bootstrap(listenerTo("app", port, tls), cluster, secretSocket);
}
