/** What all listeners of a proxy have in common, decided once a view. */
import { MeshConfig_ProxyPathNormalization_NormalizationType as Normalization } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import { effectiveTracing } from "../../snapshot/scope/tracing.ts";
import { query, type View } from "../../snapshot/view.ts";
import { unknownHostsCluster } from "../cds/dynamic-dns.ts";
import { type DnsCache, unknownHostsDnsCache } from "../shared/dns-cache.ts";
import { istioExtensions } from "../shared/istio-extensions.ts";
import { type AccessLogs, accessLogs } from "./access-log.ts";
import type { TracingTraits } from "./http/tracing.ts";
import { tracingProvider } from "./http/tracing-provider.ts";

export interface ListenerTraits {
  /** Proxies exchange metadata of their workloads on TCP, respectively HTTP. */
  readonly networkMetadata: boolean;
  readonly httpMetadata: boolean;
  readonly alpn: boolean;
  readonly acceptHttp10: boolean;
  /** What marks plain HTTP when the first bytes of a connection are looked at. */
  readonly plainHttpProtocols: readonly string[];
  readonly normalizePath: boolean;
  readonly mergeSlashes: boolean;
  readonly unescapeSlashes: boolean;
  /** Text of a duration, empty for Envoy's default. */
  readonly idleTimeout: string;
  /** Spread connections evenly over the proxy's threads. */
  readonly exactBalance: { readonly inbound: boolean; readonly outbound: boolean };
  /** Redirection keeps the caller's address (TPROXY). */
  readonly transparent: boolean;
  /** Undefined where spans are switched off. */
  readonly tracing: Readonly<Record<"inbound" | "outbound", TracingTraits | undefined>>;
  readonly accessLogs: AccessLogs;
  /** Sessions may be kept with one endpoint. */
  readonly sessions: boolean;
  /** Resolves the hosts of requests to nowhere known, where the mesh asks for that. */
  readonly unknownHosts: DnsCache | undefined;
  /** Where connections to nowhere known go: PassthroughCluster, BlackHoleCluster, or an egress proxy. */
  readonly fallbackCluster: string;
  readonly wildcardAddress: string;
  readonly loopbackAddress: string;
  readonly extraAddresses: readonly string[];
}

export const listenerTraits = query<ListenerTraits>("listener-traits", (view) => {
  const { mesh, proxy } = view;
  const exchanges = view.flag("PILOT_ENABLE_METADATA_EXCHANGE", true);
  const normalization = mesh.pathNormalization?.normalization ?? Normalization.DEFAULT;
  const decodes = normalization === Normalization.DECODE_AND_MERGE_SLASHES;
  const { ipMode } = proxy;
  return {
    networkMetadata: exchanges && proxy.supports(istioExtensions.networkMetadataExchange),
    httpMetadata: exchanges && proxy.supports(istioExtensions.httpPeerMetadata),
    alpn: view.flag("PILOT_ENABLE_ALPN_FILTER", true) && proxy.supports(istioExtensions.alpn),
    acceptHttp10: view.flag("PILOT_HTTP10", false) || proxy.metadataText("HTTP10") === "1",
    plainHttpProtocols: view.flag("PILOT_HTTP10", false) ? sniffedWithHttp10 : sniffed,
    normalizePath: normalization !== Normalization.NONE,
    mergeSlashes: decodes || normalization === Normalization.MERGE_SLASHES,
    unescapeSlashes: decodes,
    idleTimeout: proxy.metadataText("IDLE_TIMEOUT"),
    exactBalance: view.read(exactBalance),
    transparent: proxy.metadataText("INTERCEPTION_MODE") === "TPROXY",
    tracing: view.read(tracings),
    accessLogs: view.read(accessLogs),
    sessions: view.flag("PILOT_ENABLE_PERSISTENT_SESSION_FILTER", false),
    ...view.read(fallback),
    wildcardAddress: ipMode === "ipv6" ? "::" : "0.0.0.0",
    loopbackAddress: ipMode === "ipv6" ? "::1" : "127.0.0.1",
    extraAddresses: view.read(dualStackWildcards),
  };
});

/** Only a request tells the host it is meant for: other connections pass to their original destination. */
const fallback = query("listener-fallback", (view) => {
  const cluster = view.read(fallbackCluster);
  return cluster === unknownHostsCluster
    ? { fallbackCluster: "PassthroughCluster", unknownHosts: view.read(unknownHostsDnsCache) }
    : { fallbackCluster: cluster, unknownHosts: undefined };
});

const sniffed: readonly string[] = ["http/1.1", "h2c"];
const sniffedWithHttp10: readonly string[] = ["http/1.0", ...sniffed];

const exactBalance = query("exact-balance", ({ proxy }) => ({
  inbound: proxy.metadataFlag("INBOUND_LISTENER_EXACT_BALANCE"),
  outbound: proxy.metadataFlag("OUTBOUND_LISTENER_EXACT_BALANCE"),
}));

const dualStackWildcards = query<readonly string[]>("dual-stack-wildcards", (view) =>
  view.flag("ISTIO_DUAL_STACK", false) && view.proxy.ipMode === "dual" ? ["::"] : [],
);

const tracings = query("tracings", (view) => ({
  inbound: view.read(tracingTraits, "inbound"),
  outbound: view.read(tracingTraits, "outbound"),
}));

const tracingTraits = query<TracingTraits | undefined, "inbound" | "outbound">("tracing-traits", (view, direction) => {
  const { disabled, provider, sampling, customTags, istioTags } = view.read(effectiveTracing, direction);
  if (disabled) return undefined;
  const collector = tracingProvider(view, provider);
  return {
    provider: collector?.http,
    maxTagLength: collector?.maxTagLength ?? 0,
    istioTags,
    customTags,
    sampling: sampling ?? samplingPercent(view),
    canonicalService: canonicalService(view),
    canonicalRevision: view.proxy.label("service.istio.io/canonical-revision") ?? "latest",
    clusterId: view.proxy.metadataText("CLUSTER_ID") || "unknown",
    meshId: view.proxy.metadataText("MESH_ID") || "unknown",
    namespace: view.proxy.namespace,
  };
});

function canonicalService({ proxy }: View): string {
  return proxy.label("service.istio.io/canonical-name") ?? "unknown";
}

/** Of the ProxyConfig that the proxy was started with, else of the mesh's; one percent unless they say. */
function samplingPercent({ mesh, proxy }: View): number {
  const own = proxy.proxyConfig("tracing.sampling");
  const sampling = own === undefined ? mesh.defaultConfig?.tracing?.sampling : own.value;
  const percent = Number(sampling);
  return percent > 0 && percent <= 100 ? percent : 1;
}
