/** The fields that all clusters of a proxy have in common: settings of the control plane and of the mesh, decided once a view. */

import { query } from "../../snapshot/view.ts";
import { credentialSocket } from "../envoy/clusters/credential-socket.ts";
import type { ClusterTraits } from "../envoy/clusters/outbound-inputs.ts";
import { istioExtensions } from "../envoy/istio-extensions.ts";
import { carriesBaggage } from "./hbone.ts";
import { proxyHeaders } from "./proxy-headers.ts";
import { fileServer, hasCredentialSocket } from "./secret-server.ts";

/** Each once, in order. */
export const exchangedLabels = query<readonly string[]>("exchanged-labels", (view) =>
  [...new Set(view.feature("exchangedLabels"))].sort(),
);

export const clusterTraits = query<ClusterTraits>("cluster-traits", (view) => {
  const exchanges = view.feature("metadataExchange");
  const exchangesMetadata = exchanges && view.proxy.supports(istioExtensions.networkMetadataExchange);
  return {
    exchangesMetadata,
    offersPeerExchange: exchangesMetadata && !view.feature("disableMetadataExchangeAlpn"),
    carriesBaggage: carriesBaggage(view),
    namesServices: view.feature("telemetryLabel"),
    weighsLocalities: view.feature("localityWeightedLb"),
    hashesRedis: view.feature("redisFilter"),
    neverPanics: view.feature("sendUnhealthyEndpoints"),
    keepsPanics: !view.feature("sendUnhealthyEndpoints") && !view.feature("autoSendUnhealthyEndpoints"),
    udpMaxQueries: view.feature("dnsUdpMaxQueries"),
    dnsJitterNanos: BigInt(Math.round(view.feature("dnsJitterMs") * 1_000_000)),
    preservesCase: view.read(proxyHeaders)?.preserveHttp1HeaderCase === true,
    tracksRemaining: !view.feature("disableTrackRemaining"),
    exchangedLabels: view.read(exchangedLabels),
    compliance: view.feature("compliancePolicy"),
    tlsDefaults: view.mesh.tlsDefaults,
    secretServer: hasCredentialSocket(view) ? credentialSocket : undefined,
    fileServer: fileServer(view),
  };
});
