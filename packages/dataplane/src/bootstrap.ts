/** An Envoy bootstrap that takes everything from a control plane, as pilot-agent would write it. */
import { isIP } from "node:net";
import type { JsonObject } from "@flotilla/proto";
import { proofOf, type SecureChannel, tlsTowards } from "./secure-channel.ts";

export interface EnvoyNode {
  readonly type?: "sidecar" | "router" | "waypoint";
  /** Pod name, without namespace. */
  readonly name: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly locality?: { readonly region: string; readonly zone: string };
  /** NONE: the proxy listens on addresses of its own, nothing is redirected to it. */
  readonly interception?: "NONE" | "REDIRECT";
  readonly metadata?: JsonObject;
}

/** The group of proxies in whose pods connections are redirected, as Istio's rules have it. */
export const proxyGroupId = 1337;

export interface BootstrapOptions {
  readonly node: EnvoyNode;
  /** `host:port` of the ADS server, or `unix:PATH`. */
  readonly discoveryAddress: string;
  /** Plain text without it. */
  readonly secure?: SecureChannel;
  readonly delta: boolean;
  /** Unix socket of the agent that serves the workload's certificate; without one there is no mutual TLS. */
  readonly secretSocket?: string;
  /** 0 lets the system choose; the port is written to `adminAddressPath`. */
  readonly adminPort: number;
}

/** HBONE leads connections through listeners within Envoy. */
const internalListeners: JsonObject = {
  name: "envoy.bootstrap.internal_listener",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener",
  },
};

const http2Options: JsonObject = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    explicit_http_config: { http2_protocol_options: {} },
  },
};

/**
 * Envoy's own limit is 30 s, of which an interval is drawn that doubles with each attempt: a control plane that was away for 7 s is asked
 * again up to 8 s after it is back. With 1 s a proxy has its configuration well within 2 s (docs/benchmarks.md, "Faults").
 */
const reconnectBackOff: JsonObject = { retry_back_off: { base_interval: "0.5s", max_interval: "1s" } };

export function envoyBootstrap({
  node,
  discoveryAddress,
  secure,
  delta,
  secretSocket,
  adminPort,
}: BootstrapOptions): JsonObject {
  const ads: JsonObject = {
    api_type: delta ? "DELTA_GRPC" : "GRPC",
    transport_api_version: "V3",
    set_node_on_first_message_only: true,
    grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc", retry_policy: reconnectBackOff }, ...proofOf(secure) }],
  };
  const overAds: JsonObject = { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" };
  return {
    node: nodeOf(node),
    admin: { address: socketAddress("127.0.0.1", adminPort) },
    dynamic_resources: { ads_config: ads, cds_config: overAds, lds_config: overAds },
    bootstrap_extensions: [internalListeners],
    static_resources: {
      clusters: [
        { ...grpcCluster("xds-grpc", hostAndPort(discoveryAddress)), ...(secure && tlsTowards(secure)) },
        ...(secretSocket === undefined ? [] : [grpcCluster("sds-grpc", { pipe: { path: secretSocket } })]),
      ],
    },
    layered_runtime: {
      layers: [
        { name: "static", static_layer: { "re2.max_program_size.error_level": 32768 } },
        { name: "admin", admin_layer: {} },
      ],
    },
  };
}

function nodeOf(node: EnvoyNode): JsonObject {
  const {
    type = "sidecar",
    name,
    namespace,
    serviceAccount,
    labels,
    address,
    locality,
    interception = "NONE",
    metadata = {},
  } = node;
  return {
    id: `${type}~${address}~${name}.${namespace}~${namespace}.svc.cluster.local`,
    cluster: `${name}.${namespace}`,
    ...(locality && { locality: { region: locality.region, zone: locality.zone } }),
    metadata: {
      NAME: name,
      NAMESPACE: namespace,
      SERVICE_ACCOUNT: serviceAccount,
      WORKLOAD_NAME: name,
      LABELS: labels,
      INSTANCE_IPS: address,
      CLUSTER_ID: "Kubernetes",
      MESH_ID: "cluster.local",
      ISTIO_VERSION: "1.32.0",
      INTERCEPTION_MODE: interception,
      ...metadata,
    },
  };
}

function grpcCluster(name: string, address: JsonObject): JsonObject {
  return {
    name,
    type: isName(address) ? "STRICT_DNS" : "STATIC",
    connect_timeout: "2s",
    typed_extension_protocol_options: http2Options,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] },
  };
}

function isName({ socket_address: socket }: JsonObject): boolean {
  return isIP(String((socket as JsonObject | undefined)?.["address"] ?? "127.0.0.1")) === 0;
}

function hostAndPort(text: string): JsonObject {
  if (text.startsWith("unix:")) return { pipe: { path: text.slice("unix:".length) } };
  const colon = text.lastIndexOf(":");
  return socketAddress(text.slice(0, colon), Number(text.slice(colon + 1)));
}

function socketAddress(address: string, port: number): JsonObject {
  return { socket_address: { address, port_value: port } };
}
