/** A real Envoy whose own listener takes certificates by SNI over ADS, and a client that looks at them. */
import { once } from "node:events";
import { connect } from "node:tls";
import { type Envoy, type EnvoyNode, envoyBootstrap, startEnvoy } from "@flotilla/dataplane";
import type { JsonObject } from "@flotilla/proto";
import { findServer } from "@flotilla/servers";

export interface SdsListener {
  readonly port: number;
  readonly chains: readonly SdsChain[];
}

/** A filter chain: the server name it is for, and the SDS names of its certificate and of its clients' roots. */
export interface SdsChain {
  readonly host: string;
  readonly certificate: string;
  readonly clientRoots?: string;
}

export interface SdsEnvoyOptions {
  readonly directory: string;
  readonly node: EnvoyNode;
  readonly delta: boolean;
  readonly secure: { readonly address: string; readonly rootFile: string; readonly token: string };
  readonly listener: SdsListener;
}

const overAds: JsonObject = { ads: {}, resource_api_version: "V3" };
const typed = (name: string) => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });

export async function startSdsEnvoy({ directory, node, delta, secure, listener }: SdsEnvoyOptions): Promise<Envoy> {
  const { address, rootFile, token } = secure;
  const channel = { by: "token", serverName: "istiod.istio-system.svc", rootFile, token } as const;
  const bootstrap = envoyBootstrap({ node, discoveryAddress: address, secure: channel, delta, adminPort: 0 });
  const own = { ...(bootstrap["static_resources"] as JsonObject), listeners: [listenerOf(listener)] };
  const { ads_config } = bootstrap["dynamic_resources"] as JsonObject;
  const binary = await findServer("envoy", { env: process.env });
  const withoutOthers = { ...bootstrap, dynamic_resources: { ads_config }, static_resources: own } as JsonObject;
  return startEnvoy({ binary, directory, name: node.name, bootstrap: withoutOthers });
}

function listenerOf({ port, chains }: SdsListener): JsonObject {
  return {
    name: "sds",
    address: { socket_address: { address: "127.0.0.1", port_value: port } },
    listener_filters: [
      {
        name: "envoy.filters.listener.tls_inspector",
        typed_config: typed("filters.listener.tls_inspector.v3.TlsInspector"),
      },
    ],
    filter_chains: chains.map(chainOf),
  };
}

function chainOf({ host, certificate, clientRoots }: SdsChain): JsonObject {
  return {
    filter_chain_match: { server_names: [host] },
    transport_socket: {
      name: "envoy.transport_sockets.tls",
      typed_config: {
        ...typed("transport_sockets.tls.v3.DownstreamTlsContext"),
        require_client_certificate: clientRoots !== undefined,
        common_tls_context: {
          tls_certificate_sds_secret_configs: [{ name: certificate, sds_config: overAds }],
          ...(clientRoots !== undefined && {
            validation_context_sds_secret_config: { name: clientRoots, sds_config: overAds },
          }),
        },
      },
    },
    filters: [
      {
        name: "envoy.filters.network.http_connection_manager",
        typed_config: {
          ...typed("filters.network.http_connection_manager.v3.HttpConnectionManager"),
          stat_prefix: "sds",
          route_config: {
            virtual_hosts: [
              {
                name: "all",
                domains: ["*"],
                routes: [{ match: { prefix: "/" }, direct_response: { status: 200 } }],
              },
            ],
          },
          http_filters: [{ name: "envoy.filters.http.router", typed_config: typed("filters.http.router.v3.Router") }],
        },
      },
    ],
  };
}

export interface SdsCall {
  readonly port: number;
  readonly host: string;
  readonly rootPem: string;
  readonly client?: { readonly certificatePem: string; readonly keyPem: string };
}

/** One request on a connection of its own: the fingerprint of the certificate. Rejects unless it was answered. */
export async function fingerprintAt({ port, host, rootPem, client }: SdsCall): Promise<string> {
  const own = client && { cert: client.certificatePem, key: client.keyPem };
  const socket = connect({ host: "127.0.0.1", port, servername: host, ca: rootPem, ...own });
  let answer = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    answer += chunk;
  });
  // Awaited below; a later one adds nothing.
  socket.on("error", () => undefined);
  try {
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerCertificate();
    const ended = once(socket, "close");
    socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    await ended;
    if (!answer.startsWith("HTTP/1.1 200")) throw new Error(`no answer at ${host}: ${JSON.stringify(answer)}`);
    return fingerprint256;
  } finally {
    socket.destroy();
  }
}
