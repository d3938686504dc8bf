/** The fields that all listeners of a proxy have in common, decided once a view. */
import { compareText, parseCidr, rangeBits } from "@flotilla/model";
import { MeshConfig_ProxyPathNormalization_NormalizationType as Normalization } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { Tracing as ProxyTracing } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { ownPart } from "../../snapshot/own-proxy-config.ts";
import { keepsRouteSessions } from "../../snapshot/scope/routes-with-filters.ts";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import { effectiveTracing, type TelemetryScope, telemetryScope } from "../../snapshot/scope/telemetry.ts";
import { query, type View } from "../../snapshot/view.ts";
import { unknownHostsCluster } from "../envoy/clusters/dynamic-dns.ts";
import { durationOfMs } from "../envoy/duration.ts";
import type { ProtocolFilters } from "../envoy/filters/network-filters.ts";
import type { TagSource, TracingTraits } from "../envoy/filters/tracing.ts";
import { istioExtensions } from "../envoy/istio-extensions.ts";
import type { ListenerTraits } from "../envoy/listeners/listener-traits.ts";
import { accessLogs } from "./access-log.ts";
import { exchangedLabels } from "./cluster-traits.ts";
import { connectionSettings } from "./connection-settings.ts";
import { unknownHostsDnsCache } from "./dns.ts";
import { extensionFilters } from "./extensions.ts";
import { proxyHeaders } from "./proxy-headers.ts";
import { statsFilters } from "./stats.ts";
import { tracingProvider } from "./tracing-provider.ts";

export const listenerTraits = query<ListenerTraits>("listener-traits", (view) => {
  const { mesh, proxy } = view;
  const exchanges = view.feature("metadataExchange");
  const normalization = mesh.pathNormalization?.normalization ?? Normalization.DEFAULT;
  const decodes = normalization === Normalization.DECODE_AND_MERGE_SLASHES;
  const { ipMode } = proxy;
  return {
    networkMetadata: exchanges && proxy.supports(istioExtensions.networkMetadataExchange),
    httpMetadata: exchanges && proxy.supports(istioExtensions.httpPeerMetadata),
    exchangesMetadata: exchanges && !view.feature("disableMetadataExchangeAlpn"),
    alpn: view.feature("alpnFilter") && proxy.supports(istioExtensions.alpn),
    acceptHttp10: view.feature("http10") || proxy.metadataText("HTTP10") === "1",
    passes100Continue: view.feature("passes100Continue"),
    acceptedAtOnce: view.feature("acceptedAtOnce") || undefined,
    handshakeTimeout: durationOfMs(view.feature("handshakeTimeoutMs")),
    plainHttpProtocols: view.feature("http10") ? sniffedWithHttp10 : sniffed,
    normalizePath: normalization !== Normalization.NONE,
    mergeSlashes: decodes || normalization === Normalization.MERGE_SLASHES,
    unescapeSlashes: decodes,
    connection: view.read(connectionSettings),
    idleTimeout: proxy.metadataText("IDLE_TIMEOUT"),
    exactBalance: view.read(exactBalance),
    transparent: proxy.metadataText("INTERCEPTION_MODE") === "TPROXY",
    useRemoteAddress: view.feature("sidecarUseRemoteAddress"),
    headers: view.read(proxyHeaders),
    protocolFilters: view.read(protocolFilters),
    tracing: view.read(tracings),
    inboundRetries: mesh.defaultInboundHttpRetryPolicy,
    samplesByRequestId: view.read(requestIds),
    stats: view.read(statsOfBothSides),
    accessLogs: view.read(logsOfBothSides),
    extensions: view.read(extensionFilters, ""),
    sessions: view.feature("persistentSessionFilter") || view.read(keepsRouteSessions),
    ...view.read(fallback),
    wildcardAddress: ipMode === "ipv6" ? "::" : "0.0.0.0",
    loopbackAddress: ipMode === "ipv6" ? "::1" : "127.0.0.1",
    extraAddresses: view.read(dualStackWildcards),
    extraOutboundAddresses: view.read(extraOutboundAddresses),
    internalRanges: view.read(internalRanges),
    isAlwaysInternal: view.feature("meshNetworksAreInternal"),
    exchangedLabels: view.read(exchangedLabels),
    extraLoopbacks: view.read(dualStackLoopbacks),
  };
});

/** Only a request names the host it is meant for: other connections pass to their original destination. */
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
  view.feature("dualStack") && view.proxy.ipMode === "dual" ? ["::"] : [],
);

const extraOutboundAddresses = query<readonly string[]>("extra-outbound-addresses", (view) =>
  view.feature("ipv4OutboundOfIpv6") && view.proxy.ipMode === "ipv6" ? ["0.0.0.0"] : view.read(dualStackWildcards),
);

const internalRanges = query<readonly string[]>("internal-ranges", (view) =>
  Object.values(view.networks?.networks ?? {})
    .flatMap(({ endpoints }) => endpoints.flatMap(({ ne }) => (ne.case === "fromCidr" ? [ne.value] : [])))
    .filter((range) => parseCidr(range) !== undefined)
    .sort(compareRanges),
);

/** IPv4 first, then by address and length, as istiod orders them. */
function compareRanges(a: string, b: string): number {
  const key = (range: string) =>
    `${rangeBits(range)?.padEnd(129, "0")} ${parseCidr(range)?.length.toString().padStart(3, "0")}`;
  return compareText(key(a), key(b));
}

const dualStackLoopbacks = query<readonly string[]>("dual-stack-loopbacks", (view) =>
  view.proxy.ipMode === "dual" ? ["::1"] : [],
);

const tracings = query("tracings", (view) => ({
  inbound: view.read(tracingTraits, telemetryScope("inbound")),
  outbound: view.read(tracingTraits, telemetryScope("outbound")),
}));

const protocolFilters = query<ProtocolFilters>("protocol-filters", (view) => ({
  mongo: view.feature("mongoFilter"),
  mysql: view.feature("mysqlFilter"),
  redis: view.feature("redisFilter"),
}));

const statsOfBothSides = query("stats-of-both-sides", (view) => ({
  inbound: view.read(statsFilters, telemetryScope("inbound")),
  outbound: view.read(statsFilters, telemetryScope("outbound")),
}));

const logsOfBothSides = query("logs-of-both-sides", (view) => ({
  inbound: view.read(accessLogs, telemetryScope("inbound")),
  outbound: view.read(accessLogs, telemetryScope("outbound")),
}));

const requestIds = query("request-ids", (view) => ({
  inbound: samplesByRequestId(view, telemetryScope("inbound")),
  outbound: samplesByRequestId(view, telemetryScope("outbound")),
}));

/** Where nothing is traced, Envoy's own default, whatever Telemetry states. */
export function samplesByRequestId(view: View, scope: TelemetryScope): boolean {
  return view.read(tracingTraits, scope)?.samplesByRequestId ?? true;
}

export const tracingTraits = query<TracingTraits | undefined, TelemetryScope>("tracing-traits", (view, scope) => {
  const effective = view.read(effectiveTracing, scope);
  const { disabled, isStated, provider, sampling, customTags, istioTags } = effective;
  const isWanted = provider === "" ? !isStated && view.mesh.enableTracing : true;
  const collector = provider === "" ? undefined : tracingProvider(view, provider);
  if (disabled || !isWanted || (provider !== "" && collector === undefined)) return undefined;
  const own = view.read(proxyTracing);
  return {
    provider: collector?.http,
    maxTagLength: collector?.maxTagLength || (own?.maxPathTagLength ?? 0),
    // Where Telemetry speaks of tracing, it decides about the tags too.
    istioTags: istioTags ?? (isStated ? true : (own?.enableIstioTags ?? true)),
    customTags: customTags === undefined ? own && withoutFormatters(own.customTags) : tagsOfProxy(view, customTags),
    sampling: collector?.samples ? 100 : (sampling ?? samplingPercent(view, own)),
    samplesByRequestId: collector === undefined || effective.samplesByRequestId,
    // Older Envoys do not have the field.
    keepsContext: !(effective.endsContext && view.proxy.isAtLeast(1, 30)),
    spawnsUpstreamSpan: collector !== undefined && (collector.spawnsUpstreamSpan || view.proxy.type === "router"),
    tagsPeers: view.proxy.type === "waypoint",
    canonicalService: canonicalService(view),
    canonicalRevision: view.proxy.label("service.istio.io/canonical-revision") ?? "latest",
    clusterId: view.proxy.metadataText("CLUSTER_ID") || "unknown",
    meshId: view.proxy.metadataText("MESH_ID") || "unknown",
    namespace: view.proxy.namespace,
  };
});

/** Older Envoys have no formatted tags; a ProxyConfig has none for any. */
function tagsOfProxy({ proxy }: View, tags: Readonly<Record<string, TagSource>>) {
  return proxy.isAtLeast(1, 29) ? tags : withoutFormatters(tags);
}

function withoutFormatters(tags: Readonly<Record<string, TagSource>>): Readonly<Record<string, TagSource>> {
  const isKnown = ({ type }: TagSource) => type.case !== undefined && type.case !== "formatter";
  return Object.fromEntries(Object.entries(tags).filter(([, tag]) => isKnown(tag)));
}

function canonicalService({ proxy }: View): string {
  return proxy.label("service.istio.io/canonical-name") ?? "unknown";
}

/** Of the ProxyConfig that the proxy was started with, else of the mesh's. */
const proxyTracing = query<ProxyTracing | undefined>("proxy-tracing", ({ mesh, proxy }) => {
  const own = ownPart(proxy, "tracing");
  return own === undefined ? mesh.defaultConfig?.tracing : own.value;
});

/** The setting applies where no object states a value; an invalid value counts as 1. */
function samplingPercent(view: View, own: ProxyTracing | undefined): number {
  const percent = Number(own?.sampling || view.feature("traceSamplingPercent"));
  return percent >= 0 && percent <= 100 ? percent : 1;
}
