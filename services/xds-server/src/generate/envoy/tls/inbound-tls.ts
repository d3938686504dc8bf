/** TLS that a sidecar terminates for its workload: the mesh's certificates, fetched from the agent beside it. */
import { create, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import type { SdsSecretConfig } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import { agentSecret, type FileServer, fileSecret } from "./agent-secret.ts";
import type { TlsParameters } from "./compliance.ts";

/** Files that the workload's certificates come from instead; empty for none. */
export interface ServerFiles {
  readonly certificate: string;
  readonly key: string;
  readonly root: string;
  /** Serves these and all other files of the workload. */
  readonly server: FileServer;
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

export function workloadCertificate({ certificate, key, server }: ServerFiles): SdsSecretConfig {
  const isGiven = certificate !== "" && key !== "";
  return isGiven ? fileSecret(`file-cert:${certificate}~${key}`, server) : agentSecret("default");
}

export function workloadRoot({ root, server }: ServerFiles): SdsSecretConfig {
  return root === "" ? agentSecret("ROOTCA") : fileSecret(`file-root:${root}`, server);
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
