/** TLS that a proxy opens towards a service: the mesh's own, or as a DestinationRule states. */
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import {
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { ProxyProtocolUpstreamTransportSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol_pb";
import { RawBufferSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb";
import { TlsParameters_TlsProtocol as Protocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import type { SdsSecretConfigSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import {
  type CommonTlsContextSchema,
  type UpstreamTlsContext,
  UpstreamTlsContextSchema,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type ClientTLSSettings,
  ClientTLSSettings_TLSmode as TlsMode,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { agentSecret, credentialSecret, type FileServer, fileSecret, type SecretServer } from "./agent-secret.ts";
import { type CompliancePolicy, compliantParameters, type TlsParameters } from "./compliance.ts";

type Secret = MessageInitShape<typeof SdsSecretConfigSchema>;
type CommonTls = MessageInitShape<typeof CommonTlsContextSchema>;

/** Files that the proxy was started with instead of the agent's certificates; empty texts for none. */
interface ClientFiles {
  readonly certificate: string;
  readonly key: string;
  readonly root: string;
}

export interface MutualTlsInputs {
  readonly sni: string;
  /** Identities of which the server must have one; empty accepts any of the mesh. */
  readonly subjectAltNames: readonly string[];
  readonly http2: boolean;
  readonly files?: ClientFiles | undefined;
  readonly fileServer: FileServer;
  /** For certificates that are not the mesh's. */
  readonly defaults: TlsDefaults | undefined;
  /** Callers and servers exchange who they are before the first byte. */
  readonly offersPeerExchange: boolean;
  readonly compliance: CompliancePolicy;
}

const versions = {
  tlsMinimumProtocolVersion: Protocol.TLSv1_2,
  tlsMaximumProtocolVersion: Protocol.TLSv1_3,
} satisfies TlsParameters;

/** The mesh's mutual TLS: certificates come from the agent beside the proxy. */
export function mutualTls({
  sni,
  subjectAltNames,
  http2,
  files,
  fileServer,
  offersPeerExchange,
  compliance,
  defaults,
}: MutualTlsInputs): TransportSocket {
  const own = files && files.certificate !== "" && files.key !== "" ? files : undefined;
  const inMesh = offersPeerExchange ? ["istio-peer-exchange", "istio"] : ["istio"];
  return tlsSocket(
    create(UpstreamTlsContextSchema, {
      sni,
      commonTlsContext: {
        // "istio" shows the server's sidecar that the peer is one too; with foreign certificates the caller is not of the mesh.
        alpnProtocols: [...(own === undefined ? inMesh : []), ...(http2 ? ["h2"] : [])],
        tlsCertificateSdsSecretConfigs: [
          own === undefined
            ? agentSecret("default")
            : fileSecret(`file-cert:${own.certificate}~${own.key}`, fileServer),
        ],
        ...validation(
          subjectAltNames,
          files && files.root !== "" ? fileSecret(`file-root:${files.root}`, fileServer) : agentSecret("ROOTCA"),
        ),
        ...parameters(compliance, own === undefined ? undefined : defaults),
      },
    }),
  );
}

export interface DestinationRuleTlsInputs {
  readonly settings: ClientTLSSettings;
  /** The caller's own key pair for servers that may ask for one; "" for none. */
  readonly clientCredential: string;
  readonly http2: boolean;
  readonly subjectAltNames: readonly string[];
  readonly defaults: TlsDefaults | undefined;
  readonly compliance: CompliancePolicy;
  /** Asked for credentials `sds://NAME`; as of servers of Gateways, but for that of MeshConfig. */
  readonly secretServer: SecretServer | undefined;
  readonly fileServer: FileServer;
}

/** SIMPLE and MUTUAL as a rule states. */
export function destinationRuleTls({
  settings,
  clientCredential,
  http2,
  subjectAltNames,
  defaults,
  compliance,
  secretServer,
  fileServer,
}: DestinationRuleTlsInputs): TransportSocket {
  const { mode, sni, credentialName: credential, clientCertificate, privateKey, insecureSkipVerify = false } = settings;
  const root =
    credential !== ""
      ? credentialSecret(`${credential}-cacert`, secretServer)
      : fileSecret(`file-root:${settings.caCertificates || "system"}`, fileServer);
  const own =
    mode !== TlsMode.MUTUAL
      ? ownSecrets(clientCredential)
      : [
          credential !== ""
            ? credentialSecret(credential, secretServer)
            : fileSecret(`file-cert:${clientCertificate}~${privateKey}`, fileServer),
        ];
  return tlsSocket(
    create(UpstreamTlsContextSchema, {
      sni,
      commonTlsContext: {
        ...(http2 && { alpnProtocols: ["h2"] }),
        tlsCertificateSdsSecretConfigs: own,
        ...(insecureSkipVerify
          ? noValidation(credential)
          : // A list of revoked certificates beside a Secret is the Secret's own.
            validation(subjectAltNames, root, credential === "" ? settings.caCrl : "")),
        ...parameters(compliance, defaults),
      },
    }),
  );
}

/** As in istiod, empty for certificates in files only: Envoy's own default is the same. */
function noValidation(credential: string): Pick<CommonTls, "validationContextType"> {
  return credential === "" ? { validationContextType: { case: "validationContext", value: {} } } : {};
}

function ownSecrets(credential: string): Secret[] {
  return credential === "" ? [] : [credentialSecret(credential)];
}

/** The smallest version of `tlsDefaults` is for servers. */
function parameters(compliance: CompliancePolicy, defaults: TlsDefaults | undefined): Pick<CommonTls, "tlsParams"> {
  const suites = defaults && { cipherSuites: defaults.cipherSuites, ecdhCurves: defaults.ecdhCurves };
  const tlsParams = compliantParameters(compliance, { ...versions, ...suites });
  return tlsParams === undefined ? {} : { tlsParams };
}

function validation(names: readonly string[], root: Secret, revoked = ""): Pick<CommonTls, "validationContextType"> {
  const matchSubjectAltNames = names.map((value) => ({ matchPattern: { case: "exact" as const, value } }));
  return {
    validationContextType: {
      case: "combinedValidationContext",
      value: {
        defaultValidationContext: {
          matchSubjectAltNames,
          ...(revoked !== "" && { crl: { specifier: { case: "filename" as const, value: revoked } } }),
        },
        validationContextSdsSecretConfig: root,
      },
    },
  };
}

function tlsSocket(context: UpstreamTlsContext): TransportSocket {
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(UpstreamTlsContextSchema, context) },
  });
}

/** Mutual TLS to endpoints that take it, plain text to the others. */
export function autoMtlsMatches(tls: TransportSocket, plain: TransportSocket): Cluster_TransportSocketMatch[] {
  return [
    create(Cluster_TransportSocketMatchSchema, {
      name: "tlsMode-istio",
      match: { tlsMode: "istio" },
      transportSocket: tls,
    }),
    plainMatch(plain),
  ];
}

/** For endpoints that nothing else is known of. */
export function plainMatch(transportSocket: TransportSocket): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, { name: "tlsMode-disabled", match: {}, transportSocket });
}

/** For endpoints that take HBONE. */
export function tunnelMatch(transportSocket: TransportSocket): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, { name: "hbone", match: { tunnel: "http" }, transportSocket });
}

export const plainText: TransportSocket = rawBuffer("envoy.transport_sockets.raw_buffer");

/** The socket beneath a header of the caller's address where no endpoint needs TLS. */
export const unencrypted: TransportSocket = rawBuffer("raw_buffer");

function rawBuffer(name: string): TransportSocket {
  const value = pack(RawBufferSchema, create(RawBufferSchema));
  return create(TransportSocketSchema, { name, configType: { case: "typedConfig", value } });
}

/** Passes the server the caller's address in a header before the connection's own bytes. */
export function withProxyProtocol(transportSocket: TransportSocket, version: number): TransportSocket {
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.upstream_proxy_protocol",
    configType: {
      case: "typedConfig",
      value: pack(
        ProxyProtocolUpstreamTransportSchema,
        create(ProxyProtocolUpstreamTransportSchema, { config: { version }, transportSocket }),
      ),
    },
  });
}
