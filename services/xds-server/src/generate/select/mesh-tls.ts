/** Parameters of the mesh's own TLS. */
import { TlsParameters_TlsProtocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { MeshConfig_TLSConfig_TLSProtocol } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query } from "../../snapshot/view.ts";
import { defaultCipherSuites } from "../envoy/tls/cipher-suites.ts";
import { compliantParameters, type TlsParameters } from "../envoy/tls/compliance.ts";
import type { ServerFiles } from "../envoy/tls/inbound-tls.ts";
import { fileServer } from "./secret-server.ts";

export const meshTls = query<TlsParameters>(
  "mesh-tls",
  (view) => {
    const { meshMTLS } = view.mesh;
    const isNewest = meshMTLS?.minProtocolVersion === MeshConfig_TLSConfig_TLSProtocol.TLSV1_3;
    const parameters: TlsParameters = {
      tlsMinimumProtocolVersion: isNewest ? TlsParameters_TlsProtocol.TLSv1_3 : TlsParameters_TlsProtocol.TLSv1_2,
      tlsMaximumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_3,
      cipherSuites: [...(meshMTLS?.cipherSuites.length ? meshMTLS.cipherSuites : defaultCipherSuites)],
    };
    return compliantParameters(view.feature("compliancePolicy"), parameters) ?? parameters;
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** The trust domains that peers must belong to; any will do where that is not checked. */
export const peerTrustDomains = query<readonly string[]>("peer-trust-domains", (view) => {
  if (view.feature("skipValidateTrustDomain")) return [];
  const { trustDomain, trustDomainAliases, caCertificates } = view.mesh;
  const ofRoots = caCertificates.flatMap(({ trustDomains }) => trustDomains);
  return [...new Set([trustDomain, ...trustDomainAliases, ...ofRoots])].filter((domain) => domain !== "");
});

/** Files that the proxy was started with instead of the agent's certificates. */
export const serverFiles = query<ServerFiles>("server-files", (view) => ({
  certificate: view.proxy.metadataText("TLS_SERVER_CERT_CHAIN"),
  key: view.proxy.metadataText("TLS_SERVER_KEY"),
  root: view.proxy.metadataText("TLS_SERVER_ROOT_CERT"),
  server: fileServer(view),
}));
