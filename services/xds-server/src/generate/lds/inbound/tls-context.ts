/** TLS that a sidecar terminates for its workload: the mesh's certificates, fetched from the agent beside it. */
import { create, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { TlsParameters_TlsProtocol as Protocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { agentSecret, fileSecret } from "../../shared/agent-secret.ts";

/** Files that the workload's certificates come from instead; empty for none. */
export interface ServerFiles {
  readonly certificate: string;
  readonly key: string;
  readonly root: string;
}

/** `meshMTLS` of MeshConfig. */
export interface MeshTlsParameters {
  readonly minimumVersion: Protocol;
  /** Istio's own choice when empty. */
  readonly cipherSuites: readonly string[];
}

export interface InboundTlsInputs {
  /** The workload's bytes may be anything: peers may negotiate the exchange of metadata. */
  readonly tcp: boolean;
  /** Callers must belong to one of these. */
  readonly trustDomains: readonly string[];
  readonly parameters: MeshTlsParameters;
  readonly files: ServerFiles;
}

export function inboundTls({ tcp, trustDomains, parameters, files }: InboundTlsInputs): TransportSocket {
  const context = create(DownstreamTlsContextSchema, {
    requireClientCertificate: true,
    commonTlsContext: {
      alpnProtocols: [...(tcp ? ["istio-peer-exchange"] : []), "h2", "http/1.1"],
      tlsCertificateSdsSecretConfigs: [
        files.certificate !== "" && files.key !== ""
          ? fileSecret(`file-cert:${files.certificate}~${files.key}`)
          : agentSecret("default"),
      ],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: {
            matchSubjectAltNames: trustDomains.map((domain) => ({
              matchPattern: { case: "prefix" as const, value: `spiffe://${domain}/` },
            })),
          },
          validationContextSdsSecretConfig:
            files.root === "" ? agentSecret("ROOTCA") : fileSecret(`file-root:${files.root}`),
        },
      },
      tlsParams: {
        cipherSuites: parameters.cipherSuites.length > 0 ? [...parameters.cipherSuites] : defaultCipherSuites,
        tlsMinimumProtocolVersion: parameters.minimumVersion,
        tlsMaximumProtocolVersion: Protocol.TLSv1_3,
      },
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) },
  });
}

const defaultCipherSuites = [
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "AES256-GCM-SHA384",
  "AES128-GCM-SHA256",
];
