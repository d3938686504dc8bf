/** TLS of an ingress port by the files that a Sidecar names; the agent beside the proxy serves them. Source: corpus xds, TestInboundSidecarTLSModes. */
import { knownCipherSuites } from "@flotilla/model";
import { create, pack } from "@flotilla/proto";
import { type TransportSocket, TransportSocketSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { TlsParameters_TlsProtocol as Protocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
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
import { fileSecret } from "./agent-secret.ts";

/** @param defaults `tlsDefaults` of MeshConfig, for what the Sidecar leaves open */
export function ownTls(settings: ServerTLSSettings, defaults: TlsDefaults | undefined): TransportSocket {
  const { mode, serverCertificate, privateKey } = settings;
  const isMutual = mode === TlsMode.MUTUAL;
  const context = create(DownstreamTlsContextSchema, {
    requireClientCertificate: isMutual,
    commonTlsContext: {
      alpnProtocols: ["h2", "http/1.1"],
      tlsCertificateSdsSecretConfigs: [fileSecret(`file-cert:${serverCertificate}~${privateKey}`)],
      ...(isMutual && { validationContextType: validation(settings) }),
      ...parameters(settings, defaults),
    },
  });
  return create(TransportSocketSchema, {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: pack(DownstreamTlsContextSchema, context) },
  });
}

function validation({ caCertificates, caCrl, subjectAltNames }: ServerTLSSettings) {
  return {
    case: "combinedValidationContext" as const,
    value: {
      defaultValidationContext: {
        matchSubjectAltNames: subjectAltNames.map((value) => ({ matchPattern: { case: "exact" as const, value } })),
        ...(caCrl !== "" && { crl: { specifier: { case: "filename" as const, value: caCrl } } }),
      },
      validationContextSdsSecretConfig: fileSecret(`file-root:${caCertificates}`),
    },
  };
}

/** Nothing where Envoy's defaults are meant. */
function parameters(settings: ServerTLSSettings, defaults: TlsDefaults | undefined) {
  const stated = settings.minProtocolVersion !== Version.TLS_AUTO;
  const minimum = stated ? versions[settings.minProtocolVersion] : defaultMinimum(defaults);
  const maximum = versions[settings.maxProtocolVersion];
  const cipherSuites = knownCipherSuites(
    settings.cipherSuites.length > 0 ? settings.cipherSuites : (defaults?.cipherSuites ?? []),
  );
  const ecdhCurves = settings.ecdhCurves.length > 0 ? settings.ecdhCurves : (defaults?.ecdhCurves ?? []);
  const isDefault = minimum === Protocol.TLS_AUTO && maximum === Protocol.TLS_AUTO;
  if (isDefault && cipherSuites.length + ecdhCurves.length === 0) return {};
  return {
    tlsParams: { tlsMinimumProtocolVersion: minimum, tlsMaximumProtocolVersion: maximum, cipherSuites, ecdhCurves },
  };
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
