/** TLS that a proxy opens towards a service: the mesh's own, or as a DestinationRule says. */
import { create, pack } from "@flotilla/proto";
import {
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { RawBufferSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb";
import { TlsParameters_TlsProtocol as Protocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { UpstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { agentSecret } from "../shared/agent-secret.ts";

export interface MutualTlsInputs {
  readonly sni: string;
  /** Identities of which the server must have one; empty accepts any of the mesh. */
  readonly subjectAltNames: readonly string[];
  readonly http2: boolean;
}

/** The mesh's mutual TLS: certificates come from the agent beside the proxy. */
export function mutualTls({ sni, subjectAltNames, http2 }: MutualTlsInputs): TransportSocket {
  const matchSubjectAltNames = subjectAltNames.map((value) => ({ matchPattern: { case: "exact" as const, value } }));
  const context = create(UpstreamTlsContextSchema, {
    sni,
    commonTlsContext: {
      // "istio" tells the server's sidecar that the peer is one too.
      alpnProtocols: ["istio-peer-exchange", "istio", ...(http2 ? ["h2"] : [])],
      tlsCertificateSdsSecretConfigs: [agentSecret("default")],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: { matchSubjectAltNames },
          validationContextSdsSecretConfig: agentSecret("ROOTCA"),
        },
      },
      tlsParams: { tlsMinimumProtocolVersion: Protocol.TLSv1_2, tlsMaximumProtocolVersion: Protocol.TLSv1_3 },
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(UpstreamTlsContextSchema, context) },
  });
}

/** Mutual TLS to endpoints that take it, plain text to the others. */
export function automaticTls(inputs: MutualTlsInputs): readonly Cluster_TransportSocketMatch[] {
  return [
    create(Cluster_TransportSocketMatchSchema, {
      name: "tlsMode-istio",
      match: { tlsMode: "istio" },
      transportSocket: mutualTls(inputs),
    }),
    plainOtherwise,
  ];
}

const plainOtherwise = create(Cluster_TransportSocketMatchSchema, {
  name: "tlsMode-disabled",
  match: {},
  transportSocket: {
    name: "envoy.transport_sockets.raw_buffer",
    configType: { case: "typedConfig", value: pack(RawBufferSchema, create(RawBufferSchema)) },
  },
});
