/** TLS of HBONE tunnels: version 1.3 unless the compliance policy states another, HTTP/2, the workload's certificate, peers by identity. */
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
import { type CompliancePolicy, compliantParameters } from "../tls/compliance.ts";

const versions = { tlsMinimumProtocolVersion: TlsVersion.TLSv1_3, tlsMaximumProtocolVersion: TlsVersion.TLSv1_3 };

export interface TunnelTls {
  /** Prefixes of identities, of which the other end must have one. */
  readonly peers: readonly string[];
  readonly compliance: CompliancePolicy;
}

export function hboneClientTls(tunnel: TunnelTls): TransportSocket {
  const context = create(UpstreamTlsContextSchema, { commonTlsContext: commonTls(tunnel) });
  return tlsSocket({ case: "typedConfig", value: pack(UpstreamTlsContextSchema, context) });
}

export function hboneServerTls(tunnel: TunnelTls): TransportSocket {
  const context = create(DownstreamTlsContextSchema, {
    commonTlsContext: commonTls(tunnel),
    requireClientCertificate: true,
  });
  return tlsSocket({ case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) });
}

function tlsSocket(configType: TransportSocket["configType"]): TransportSocket {
  return create(TransportSocketSchema, { name: "tls", configType });
}

function commonTls({ peers, compliance }: TunnelTls): MessageInitShape<typeof CommonTlsContextSchema> {
  return {
    alpnProtocols: ["h2"],
    tlsCertificateSdsSecretConfigs: [agentSecret("default")],
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        defaultValidationContext: {
          matchTypedSubjectAltNames: peers.map((value) => ({
            sanType: SanType.URI,
            matcher: { matchPattern: { case: "prefix" as const, value } },
          })),
        },
        validationContextSdsSecretConfig: agentSecret("ROOTCA"),
      },
    },
    tlsParams: compliantParameters(compliance, versions) ?? versions,
  };
}
