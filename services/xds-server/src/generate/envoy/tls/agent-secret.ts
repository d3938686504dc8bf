/** How a proxy asks for secrets: those of the agent beside it (`default`, `ROOTCA`, files), those of the control plane. */
import { externalSecretName, ownValue, secretName } from "@flotilla/model";
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import { ApiConfigSource_ApiType, ApiVersion } from "@flotilla/proto/envoy/config/core/v3/config_source_pb";
import type { TypedExtensionConfigSchema } from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import { StaticNameSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/cert_mappers/static_name/v3/config_pb";
import { ConfigSchema as OnDemandSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/cert_selectors/on_demand_secret/v3/config_pb";
import {
  type SdsSecretConfig,
  SdsSecretConfigSchema,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { zeroDuration } from "../duration.ts";

type TypedExtensionConfigInit = MessageInitShape<typeof TypedExtensionConfigSchema>;

/** Clusters of a proxy's bootstrap: the agent's server, or that of a socket beside it which serves the workload's files. */
export type FileServer = "sds-grpc" | "sds-files-grpc";

/** A file that the server watches, under its name there (`file-cert:`, `file-root:`). */
export function fileSecret(name: string, clusterName: FileServer): SdsSecretConfig {
  return create(SdsSecretConfigSchema, { name, sdsConfig: askedByGrpc({ clusterName }) });
}

export function agentSecret(name: string): SdsSecretConfig {
  return create(SdsSecretConfigSchema, {
    name,
    sdsConfig: { ...askedByGrpc({ clusterName: "sds-grpc" }), initialFetchTimeout: zeroDuration },
  });
}

/** A server of secrets alone, reached through a cluster of the proxy. */
function askedByGrpc(envoyGrpc: { readonly clusterName: string; readonly authority?: string }) {
  return {
    configSourceSpecifier: {
      case: "apiConfigSource" as const,
      value: {
        apiType: ApiConfigSource_ApiType.GRPC,
        transportApiVersion: ApiVersion.V3,
        setNodeOnFirstMessageOnly: true,
        grpcServices: [{ targetSpecifier: { case: "envoyGrpc" as const, value: envoyGrpc } }],
      },
    },
    resourceApiVersion: ApiVersion.V3,
  };
}

/** An SDS server that credentials `sds://NAME` are asked from. */
export interface SecretServer {
  readonly cluster: string;
  readonly hostname: string;
  /** Credentials are asked for with the scheme `sds://`. */
  readonly takesWholeNames?: boolean;
}

/** The `credentialName` that stands for the workload's own certificate. */
export const ownCertificate = "builtin://";

const ofAgent: Readonly<Record<string, string>> = {
  [ownCertificate]: "default",
  [`${ownCertificate}-cacert`]: "ROOTCA",
};

/** The agent's own, a Secret that the control plane itself serves, or an SDS server of MeshConfig or of the proxy's pod. */
export function credentialSecret(name: string, server?: SecretServer): SdsSecretConfig {
  const own = ownValue(ofAgent, name);
  if (own !== undefined) return agentSecret(own);
  const external = externalSecretName(name);
  if (external !== undefined && server !== undefined) {
    const { cluster: clusterName, hostname: authority, takesWholeNames = false } = server;
    const asked = takesWholeNames ? name : external;
    return create(SdsSecretConfigSchema, { name: asked, sdsConfig: askedByGrpc({ clusterName, authority }) });
  }
  return create(SdsSecretConfigSchema, {
    name: secretName(name),
    sdsConfig: { configSourceSpecifier: { case: "ads", value: {} }, resourceApiVersion: ApiVersion.V3 },
  });
}

/** The same, asked for when a client needs it. */
export function onDemandSecret(credentialName: string, server?: SecretServer): TypedExtensionConfigInit {
  const { name, sdsConfig } = credentialSecret(credentialName, server);
  const mapper = create(StaticNameSchema, { name });
  const config = create(OnDemandSchema, {
    ...(sdsConfig && { configSource: sdsConfig }),
    certificateMapper: {
      name: "envoy.tls.certificate_mappers.static_name",
      typedConfig: pack(StaticNameSchema, mapper),
    },
  });
  return { name: "envoy.tls.certificate_selectors.on_demand_secret", typedConfig: pack(OnDemandSchema, config) };
}
