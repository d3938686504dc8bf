/** TLS that a sidecar terminates for its workload: the mesh's certificates, fetched from the agent beside it. */
import { create, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { SdsSecretConfig } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { agentSecret, fileSecret } from "./agent-secret.ts";
import type { TlsParameters } from "./compliance.ts";

/** Files that the workload's certificates come from instead; empty for none. */
export interface ServerFiles {
  readonly certificate: string;
  readonly key: string;
  readonly root: string;
}

export interface InboundTlsInputs {
  /** Peers may negotiate the exchange of metadata before the first byte. */
  readonly exchangesMetadata: boolean;
  /** Callers must belong to one of these. */
  readonly trustDomains: readonly string[];
  /** By `meshMTLS` of MeshConfig. */
  readonly parameters: TlsParameters;
  readonly files: ServerFiles;
}

export function workloadCertificate({ certificate, key }: ServerFiles): SdsSecretConfig {
  return certificate !== "" && key !== "" ? fileSecret(`file-cert:${certificate}~${key}`) : agentSecret("default");
}

export function workloadRoot({ root }: ServerFiles): SdsSecretConfig {
  return root === "" ? agentSecret("ROOTCA") : fileSecret(`file-root:${root}`);
}

export function inboundTls({ exchangesMetadata, trustDomains, parameters, files }: InboundTlsInputs): TransportSocket {
  const context = create(DownstreamTlsContextSchema, {
    requireClientCertificate: true,
    commonTlsContext: {
      alpnProtocols: [...(exchangesMetadata ? ["istio-peer-exchange"] : []), "h2", "http/1.1"],
      tlsCertificateSdsSecretConfigs: [workloadCertificate(files)],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: {
            matchSubjectAltNames: trustDomains.map((domain) => ({
              matchPattern: { case: "prefix" as const, value: `spiffe://${domain}/` },
            })),
          },
          validationContextSdsSecretConfig: workloadRoot(files),
        },
      },
      tlsParams: parameters,
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) },
  });
}
