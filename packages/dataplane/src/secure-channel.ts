/** TLS from an Envoy to its control plane, and how the Envoy proves who it is. */
import type { JsonObject } from "@flotilla/proto";

export type SecureChannel =
  /** Roots in a file; the workload is known by a token. */
  | { readonly by: "token"; readonly serverName: string; readonly rootFile: string; readonly token: string }
  /** Roots and the workload's certificate by SDS from `secretSocket`: both are renewed without a restart. */
  | { readonly by: "certificate"; readonly serverName: string };

/** The transport socket of the cluster of the control plane. */
export function tlsTowards(channel: SecureChannel): JsonObject {
  const { serverName } = channel;
  const names = { match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: serverName } }] };
  const context: JsonObject =
    channel.by === "token"
      ? { validation_context: { ...names, trusted_ca: { filename: channel.rootFile } } }
      : {
          tls_certificate_sds_secret_configs: [secret("default")],
          combined_validation_context: {
            default_validation_context: names,
            validation_context_sds_secret_config: secret("ROOTCA"),
          },
        };
  return {
    transport_socket: {
      name: "envoy.transport_sockets.tls",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        sni: serverName,
        common_tls_context: { alpn_protocols: ["h2"], ...context },
      },
    },
  };
}

/** Metadata of the ADS stream. */
export function proofOf(channel: SecureChannel | undefined): JsonObject {
  if (channel?.by !== "token") return {};
  return { initial_metadata: [{ key: "authorization", value: `Bearer ${channel.token}` }] };
}

function secret(name: string): JsonObject {
  const services = [{ envoy_grpc: { cluster_name: "sds-grpc" } }];
  return {
    name,
    sds_config: {
      resource_api_version: "V3",
      initial_fetch_timeout: "0s",
      api_config_source: { api_type: "GRPC", transport_api_version: "V3", grpc_services: services },
    },
  };
}
