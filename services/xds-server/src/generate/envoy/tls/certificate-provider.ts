/**
 * The mesh's mutual TLS for gRPC programs without a proxy. They have certificates from a provider that their bootstrap names, which
 * reads the files of the agent. Each instance is named twice: clients from 2024 on read the newer field, others the deprecated one.
 */
import { create, type GenMessage, type Message, type MessageInitShape, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type CommonTlsContextSchema,
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";

const own = { instanceName: "default", certificateName: "default" };
const roots = { instanceName: "default", certificateName: "ROOTCA" };

/** @param identities of which the server must have one; without any, every server with an identity of the mesh is accepted */
export function clientTls(identities: readonly string[]): TransportSocket {
  const context = create(UpstreamTlsContextSchema, { commonTlsContext: commonTls(identities) });
  return tlsSocket(UpstreamTlsContextSchema, context);
}

/** Callers prove who they are. */
export const serverTls: TransportSocket = tlsSocket(
  DownstreamTlsContextSchema,
  create(DownstreamTlsContextSchema, { commonTlsContext: commonTls([]), requireClientCertificate: true }),
);

function commonTls(identities: readonly string[]): MessageInitShape<typeof CommonTlsContextSchema> {
  return {
    tlsCertificateProviderInstance: own,
    tlsCertificateCertificateProviderInstance: own,
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        defaultValidationContext: {
          caCertificateProviderInstance: roots,
          matchSubjectAltNames: identities.map((value) => ({ matchPattern: { case: "exact" as const, value } })),
        },
        validationContextCertificateProviderInstance: roots,
      },
    },
  };
}

/** gRPC takes a transport socket of this name only. */
function tlsSocket<Context extends Message>(schema: GenMessage<Context>, context: Context): TransportSocket {
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(schema, context) },
  });
}
