/**
 * TLS that a server of a Gateway or an ingress port of a Sidecar terminates: by Secrets, which the control plane serves, by files or by
 * the workload's own certificates, which the agent beside the proxy serves. Source: corpus xds, TestInboundSidecarTLSModes.
 */
import { externalSecretName, knownCipherSuites } from "@flotilla/model";
import { create, type MessageInitShape, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { QuicDownstreamTransportSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/quic/v3/quic_transport_pb";
import {
  TlsParameters_TlsProtocol as Protocol,
  CertificateValidationContext_TrustChainVerification as Verification,
} from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import type { SdsSecretConfigSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { DownstreamTlsContextSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/tls_pb";
import {
  MeshConfig_TLSConfig_TLSProtocol as DefaultVersion,
  type MeshConfig_TLSConfig as TlsDefaults,
} from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type ServerTLSSettings,
  ServerTLSSettings_TLSmode as TlsMode,
  ServerTLSSettings_TLSProtocol as Version,
} from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { credentialSecret, fileSecret, onDemandSecret, ownCertificate, type SecretServer } from "./agent-secret.ts";
import { type CompliancePolicy, compliantParameters, type TlsParameters } from "./compliance.ts";
import { type ServerFiles, workloadCertificate, workloadRoot } from "./inbound-tls.ts";

type Secret = MessageInitShape<typeof SdsSecretConfigSchema>;

export interface OwnTlsInputs {
  readonly settings: ServerTLSSettings;
  /** `tlsDefaults` of MeshConfig, for what the settings leave open. */
  readonly defaults: TlsDefaults | undefined;
  readonly compliance: CompliancePolicy;
  /** The workload's own certificates, which ISTIO_MUTUAL asks for. */
  readonly files: ServerFiles;
  /** A Secret is fetched when the first client asks for its server, and not before the server listens. */
  readonly onDemand: boolean;
  /** Undefined: Secrets of the control plane alone are asked for. */
  readonly secretServer?: SecretServer | undefined;
  /** Callers of the mesh may negotiate the exchange of metadata before the first byte, where connections pass as they are. */
  readonly exchangesMetadata: boolean;
}

/** Over TCP. */
export function ownTls(inputs: OwnTlsInputs): TransportSocket {
  const { mode } = inputs.settings;
  const exchanges = mode === TlsMode.ISTIO_MUTUAL && inputs.exchangesMetadata;
  const isFetched = inputs.onDemand && hasSingleSecret(inputs.settings);
  const context = create(DownstreamTlsContextSchema, {
    requireClientCertificate: mode === TlsMode.MUTUAL || mode === TlsMode.ISTIO_MUTUAL,
    ...(isFetched && withoutResumption),
    commonTlsContext: {
      alpnProtocols: [...(exchanges ? ["istio-peer-exchange"] : []), "h2", "http/1.1"],
      ...(isFetched
        ? { customTlsCertificateSelector: onDemandSecret(inputs.settings.credentialName, inputs.secretServer) }
        : { tlsCertificateSdsSecretConfigs: [...certificates(inputs)] }),
      ...(checksClients.has(mode) && { validationContextType: validation(inputs) }),
      ...compliant(inputs),
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) },
  });
}

/** Envoy's selector takes one Secret; a server with several has them before it listens. */
function hasSingleSecret({ mode, credentialName, credentialNames }: ServerTLSSettings): boolean {
  const isFetched = credentialName !== "" && credentialName !== ownCertificate;
  return mode !== TlsMode.ISTIO_MUTUAL && credentialNames.length === 0 && isFetched;
}

/** Envoy 1.40 refuses the selector on listeners that resume sessions. */
const withoutResumption = {
  disableStatefulSessionResumption: true,
  sessionTicketKeysType: { case: "disableStatelessSessionResumption" as const, value: true },
};

/** Over QUIC, where no client certificates are asked for, though they are checked. Source: scenario gateways/http3. */
export function ownQuicTls(inputs: OwnTlsInputs): TransportSocket {
  const transport = create(QuicDownstreamTransportSchema, {
    downstreamTlsContext: {
      requireClientCertificate: false,
      commonTlsContext: {
        alpnProtocols: ["h3"],
        tlsCertificateSdsSecretConfigs: [...certificates(inputs)],
        ...(checksOverQuic(inputs.settings) && { validationContextType: validation(inputs) }),
        ...compliant(inputs),
      },
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.quic",
    configType: { case: "typedConfig", value: pack(QuicDownstreamTransportSchema, transport) },
  });
}

const checksClients: ReadonlySet<TlsMode> = new Set([TlsMode.MUTUAL, TlsMode.OPTIONAL_MUTUAL, TlsMode.ISTIO_MUTUAL]);

function checksOverQuic(settings: ServerTLSSettings): boolean {
  return settings.mode === TlsMode.OPTIONAL_MUTUAL || (settings.mode === TlsMode.MUTUAL && usesSecrets(settings));
}

/** Secrets by name, of which there may be one for each type of key, or files. */
function certificates({ settings, files, secretServer }: OwnTlsInputs): readonly Secret[] {
  const { mode, credentialName, credentialNames, tlsCertificates, serverCertificate, privateKey } = settings;
  if (mode === TlsMode.ISTIO_MUTUAL) return [workloadCertificate(files)];
  if (credentialNames.length > 0) return credentialNames.map((name) => credentialSecret(name, secretServer));
  if (credentialName !== "") return [credentialSecret(credentialName, secretServer)];
  const named = tlsCertificates.length > 0 ? tlsCertificates : [{ serverCertificate, privateKey }];
  return named.map((one) => fileSecret(`file-cert:${one.serverCertificate}~${one.privateKey}`, files.server));
}

function validation({ settings, files, secretServer }: OwnTlsInputs) {
  const { caCrl, subjectAltNames, verifyCertificateSpki, verifyCertificateHash } = settings;
  return {
    case: "combinedValidationContext" as const,
    value: {
      defaultValidationContext: {
        matchSubjectAltNames: subjectAltNames.map((value) => ({ matchPattern: { case: "exact" as const, value } })),
        // Secrets have their own.
        ...(caCrl !== "" &&
          !usesSecrets(settings) && { crl: { specifier: { case: "filename" as const, value: caCrl } } }),
        ...(usesSecrets(settings) && { verifyCertificateSpki, verifyCertificateHash }),
        ...(settings.insecureSkipVerify === true && { trustChainVerification: Verification.ACCEPT_UNTRUSTED }),
      },
      validationContextSdsSecretConfig: rootOf(settings, files, secretServer),
    },
  };
}

function usesSecrets({ credentialName, credentialNames }: ServerTLSSettings): boolean {
  return credentialName !== "" || credentialNames.length > 0;
}

function rootOf(settings: ServerTLSSettings, files: ServerFiles, server: SecretServer | undefined): Secret {
  const { mode, caCertCredentialName, caCertificates } = settings;
  const credential = settings.credentialNames[0] ?? settings.credentialName;
  if (mode === TlsMode.ISTIO_MUTUAL) return workloadRoot(files);
  if (caCertCredentialName !== "") return credentialSecret(rootName(caCertCredentialName), server);
  if (credential !== "") return credentialSecret(`${credential}-cacert`, server);
  return fileSecret(`file-root:${caCertificates}`, files.server);
}

/** A Secret without the suffix is asked for as a key pair, which vouches for nobody. differs: istiod asks so. Other places have names of their own. */
function rootName(credential: string): string {
  const isElsewhere = credential.startsWith("configmap://") || externalSecretName(credential) !== undefined;
  return isElsewhere || credential.endsWith("-cacert") ? credential : `${credential}-cacert`;
}

function compliant({ settings, defaults, compliance }: OwnTlsInputs) {
  // The workload's own certificates come with Envoy's parameters. Source: istiod asked.
  const asked = settings.mode === TlsMode.ISTIO_MUTUAL ? undefined : parameters(settings, defaults);
  const tlsParams = compliantParameters(compliance, asked);
  return tlsParams === undefined ? {} : { tlsParams };
}

/** Nothing where Envoy's defaults are meant. */
function parameters(settings: ServerTLSSettings, defaults: TlsDefaults | undefined): TlsParameters | undefined {
  const stated = settings.minProtocolVersion !== Version.TLS_AUTO;
  const minimum = stated ? versions[settings.minProtocolVersion] : defaultMinimum(defaults);
  const maximum = versions[settings.maxProtocolVersion];
  const cipherSuites = knownCipherSuites(
    settings.cipherSuites.length > 0 ? settings.cipherSuites : (defaults?.cipherSuites ?? []),
  );
  const ecdhCurves = settings.ecdhCurves.length > 0 ? settings.ecdhCurves : (defaults?.ecdhCurves ?? []);
  const isDefault = minimum === Protocol.TLS_AUTO && maximum === Protocol.TLS_AUTO;
  if (isDefault && cipherSuites.length + ecdhCurves.length === 0) return undefined;
  return { tlsMinimumProtocolVersion: minimum, tlsMaximumProtocolVersion: maximum, cipherSuites, ecdhCurves };
}

function defaultMinimum(defaults: TlsDefaults | undefined): Protocol {
  switch (defaults?.minProtocolVersion) {
    case DefaultVersion.TLSV1_2:
      return Protocol.TLSv1_2;
    case DefaultVersion.TLSV1_3:
      return Protocol.TLSv1_3;
    default:
      return Protocol.TLS_AUTO;
  }
}

const versions: Readonly<Record<Version, Protocol>> = {
  [Version.TLS_AUTO]: Protocol.TLS_AUTO,
  [Version.TLSV1_0]: Protocol.TLSv1_0,
  [Version.TLSV1_1]: Protocol.TLSv1_1,
  [Version.TLSV1_2]: Protocol.TLSv1_2,
  [Version.TLSV1_3]: Protocol.TLSv1_3,
};
