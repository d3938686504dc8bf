/** What all clusters of a proxy have in common: settings of the control plane and of the mesh, decided once a view. */
import type { MeshConfig_TLSConfig as TlsDefaults } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { query, type View } from "../../snapshot/view.ts";
import { compliesWithFips } from "../shared/cipher-suites.ts";
import { parseDuration } from "../shared/duration.ts";
import { istioExtensions } from "../shared/istio-extensions.ts";
import { proxyHeaders } from "../shared/proxy-headers.ts";

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
  const exchanges = view.flag("PILOT_ENABLE_METADATA_EXCHANGE", true);
  const exchangesMetadata = exchanges && view.proxy.supports(istioExtensions.networkMetadataExchange);
  return {
    exchangesMetadata,
    offersPeerExchange: exchangesMetadata && !view.flag("PILOT_DISABLE_MX_ALPN", false),
    namesServices: view.flag("PILOT_ENABLE_TELEMETRY_LABEL", true),
    weighsLocalities: view.flag("ENABLE_LOCALITY_WEIGHTED_LB_CONFIG", false),
    hashesRedis: view.flag("PILOT_ENABLE_REDIS_FILTER", false),
    neverPanics: view.flag("PILOT_SEND_UNHEALTHY_ENDPOINTS", false),
    udpMaxQueries: Number(view.setting("PILOT_DNS_CARES_UDP_MAX_QUERIES", "100")),
    dnsJitterNanos: nanosOf(view, "PILOT_DNS_JITTER_DURATION", "100ms"),
    preservesCase: view.read(proxyHeaders)?.preserveHttp1HeaderCase === true,
    isFips: compliesWithFips(view),
    tlsDefaults: view.mesh.tlsDefaults,
  };
});

function nanosOf(view: View, name: string, otherwise: string): bigint {
  const { seconds = 0n, nanos = 0 } = parseDuration(view.setting(name, otherwise)) ?? parseDuration(otherwise) ?? {};
  return seconds * 1_000_000_000n + BigInt(nanos);
}
