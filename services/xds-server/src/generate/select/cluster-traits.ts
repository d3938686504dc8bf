/** What all clusters of a proxy have in common: settings of the control plane and of the mesh, decided once a view. */
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query } from "../../snapshot/view.ts";
import { istioExtensions } from "../envoy/istio-extensions.ts";
import { compliesWithFips } from "../envoy/tls/cipher-suites.ts";
import { proxyHeaders } from "./proxy-headers.ts";

export interface ClusterTraits {
  /** Proxies exchange metadata of their workloads on TCP. */
  readonly exchangesMetadata: boolean;
  /** The handshake says so: a server that agrees sends bytes which only a proxy with the filter takes out again. */
  readonly offersPeerExchange: boolean;
  /** Clusters name the services behind them, for telemetry. */
  readonly namesServices: boolean;
  readonly weighsLocalities: boolean;
  /** Keys of Redis stay with their server. */
  readonly hashesRedis: boolean;
  /** Endpoints that are not ready are told of whatever a rule says, and must never be called. */
  readonly neverPanics: boolean;
  /** Queries after which the resolver takes a fresh socket; 0 for never. */
  readonly udpMaxQueries: number;
  readonly dnsJitterNanos: bigint;
  readonly preservesCase: boolean;
  /** Only certified TLS. */
  readonly isFips: boolean;
  /** Of TLS that rules ask for. */
  readonly tlsDefaults: TlsDefaults | undefined;
}

export const clusterTraits = query<ClusterTraits>("cluster-traits", (view) => {
  const exchanges = view.feature("metadataExchange");
  const exchangesMetadata = exchanges && view.proxy.supports(istioExtensions.networkMetadataExchange);
  return {
    exchangesMetadata,
    offersPeerExchange: exchangesMetadata && !view.feature("disableMetadataExchangeAlpn"),
    namesServices: view.feature("telemetryLabel"),
    weighsLocalities: view.feature("localityWeightedLb"),
    hashesRedis: view.feature("redisFilter"),
    neverPanics: view.feature("sendUnhealthyEndpoints"),
    udpMaxQueries: view.feature("dnsUdpMaxQueries"),
    dnsJitterNanos: BigInt(Math.round(view.feature("dnsJitterMs") * 1_000_000)),
    preservesCase: view.read(proxyHeaders)?.preserveHttp1HeaderCase === true,
    isFips: compliesWithFips(view),
    tlsDefaults: view.mesh.tlsDefaults,
  };
});
