/** Parameters of the mesh's own TLS. */
import { TlsParameters_TlsProtocol } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/common_pb";
import { MeshConfig_TLSConfig_TLSProtocol } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query, type View } from "../../snapshot/view.ts";
import { defaultCipherSuites, fipsCipherSuites } from "../envoy/tls/cipher-suites.ts";
import type { MeshTlsParameters, ServerFiles } from "../envoy/tls/inbound-tls.ts";

export function compliesWithFips(view: View): boolean {
  return view.feature("compliancePolicy") === "fips-140-2";
}

export const meshTls = query<MeshTlsParameters>(
  "mesh-tls",
  (view) => {
    const { meshMTLS } = view.mesh;
    const isNewest = meshMTLS?.minProtocolVersion === MeshConfig_TLSConfig_TLSProtocol.TLSV1_3;
    const isFips = compliesWithFips(view);
    const ownSuites = isFips ? fipsCipherSuites : defaultCipherSuites;
    return {
      minimumVersion: isNewest && !isFips ? TlsParameters_TlsProtocol.TLSv1_3 : TlsParameters_TlsProtocol.TLSv1_2,
      maximumVersion: isFips ? TlsParameters_TlsProtocol.TLSv1_2 : TlsParameters_TlsProtocol.TLSv1_3,
      cipherSuites: meshMTLS?.cipherSuites.length && !isFips ? meshMTLS.cipherSuites : ownSuites,
    };
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Files that the proxy was started with instead of the agent's certificates. */
export const serverFiles = query<ServerFiles>("server-files", ({ proxy }) => ({
  certificate: proxy.metadataText("TLS_SERVER_CERT_CHAIN"),
  key: proxy.metadataText("TLS_SERVER_KEY"),
  root: proxy.metadataText("TLS_SERVER_ROOT_CERT"),
}));
