/** TLS of HBONE tunnels: version 1.3, HTTP/2, the workload's certificate, and peers of the mesh's trust domains. */
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  SubjectAltNameMatcher_SanType as SanType,
  TlsParameters_TlsProtocol as TlsVersion,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import {
  type CommonTlsContextSchema,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { agentSecret } from "../tls/agent-secret.ts";

/** @param prefixes of identities, of which the peer must have one */
export function hboneClientTls(prefixes: readonly string[]): TransportSocket {
  const context = create(UpstreamTlsContextSchema, { commonTlsContext: commonTls(prefixes) });
  return tlsSocket({ case: "typedConfig", value: pack(UpstreamTlsContextSchema, context) });
}

/** @param prefixes of identities, of which the caller must have one */
export function hboneServerTls(prefixes: readonly string[]): TransportSocket {
  const context = create(DownstreamTlsContextSchema, {
    commonTlsContext: commonTls(prefixes),
    requireClientCertificate: true,
  });
  return tlsSocket({ case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) });
}

function tlsSocket(configType: TransportSocket["configType"]): TransportSocket {
  return create(TransportSocketSchema, { name: "tls", configType });
}

function commonTls(prefixes: readonly string[]): MessageInitShape<typeof CommonTlsContextSchema> {
  return {
    alpnProtocols: ["h2"],
    tlsCertificateSdsSecretConfigs: [agentSecret("default")],
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        defaultValidationContext: {
          matchTypedSubjectAltNames: prefixes.map((value) => ({
            sanType: SanType.URI,
            matcher: { matchPattern: { case: "prefix" as const, value } },
          })),
        },
        validationContextSdsSecretConfig: agentSecret("ROOTCA"),
      },
    },
    tlsParams: { tlsMinimumProtocolVersion: TlsVersion.TLSv1_3, tlsMaximumProtocolVersion: TlsVersion.TLSv1_3 },
  };
}
