/** The filter chains within tunnels: of a service behind the waypoint, by port and layer, and of workloads that are called themselves. */
import { type ClusterName, isHttp2, isTls, isWildcard, type Service, type ServicePort } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type FilterChain, FilterChainSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { RouteConfiguration } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { type ServiceText, serviceText } from "../../../snapshot/row-index.ts";
import type { PolicySubject } from "../../../snapshot/scope/policy-targets.ts";
import { vipsOf, waypointService } from "../../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../../snapshot/view.ts";
import type { DnsCache } from "../../envoy/clusters/dns-cache.ts";
import { dynamicForwardProxy, dynamicForwardProxyBySni } from "../../envoy/filters/dynamic-forward-proxy.ts";
import {
  type ExtensionFilter,
  httpPolicyFilters,
  networkPolicyFilters,
} from "../../envoy/filters/extension-filters.ts";
import { metadataExchange, protocolProxy, tcpProxy } from "../../envoy/filters/network-filters.ts";
import { destinationOr, keptAddress, peerMetadataFilter } from "../../envoy/hbone/filter-state.ts";
import { connectionManager } from "../../envoy/listeners/connection-manager.ts";
import { type AuthorizationFilters, authorizationFilters } from "../../select/authorization.ts";
import { resolvedFamilies } from "../../select/dns.ts";
import { tcpPolicyOf } from "../../select/tcp-policy.ts";
import { layersOf, vipClusterName } from "../../select/vip-cluster.ts";
import { defaultRoutes, serviceRoutes } from "./service-routes.ts";
import { tcpRoute } from "./tcp-routes.ts";
import { type WaypointTraits, waypointTraits } from "./traits.ts";

type Filters = FilterChain["filters"];

/** The fields that the chains of one service, or of workloads, have in common. */
interface ChainPlace {
  readonly traits: WaypointTraits;
  readonly authorization: AuthorizationFilters;
  /** Below a wildcard: hosts are resolved as requests for them come. */
  readonly dnsCache: DnsCache | undefined;
}

export const serviceFilterChains = query<readonly FilterChain[], ServiceText>("service-filter-chains", (view, text) => {
  const service = waypointService(view, serviceText.read(text).hostname);
  if (service === undefined) return [];
  const place = chainPlace(view, text, service);
  const [vip = "0.0.0.0"] = vipsOf(view, service);
  const first = (port: number) => (view.feature("ambientMultiNetwork") ? [destinationOr(`${vip}:${port}`)] : []);
  const takesTls = view.feature("wildcardTls");
  return service.ports
    .filter(({ protocol }) => !isOpen(service) || !isTls(protocol) || takesTls)
    .flatMap((port) =>
      layersOf(port.protocol).map((layer) => {
        const name = vipClusterName({ port: port.number, layer, subset: "", hostname: service.hostname });
        const filters =
          layer === "http"
            ? httpFilters(view, place, { service, port, name })
            : tcpFilters(view, place, { service, port, name });
        return create(FilterChainSchema, { name, filters: [...first(port.number), ...filters] });
      }),
    );
});

export const directFilterChains = query<readonly FilterChain[]>("direct-filter-chains", (view) => {
  const place = chainPlace(view, "", undefined);
  const routes = defaultRoutes(view, { name: "encap", operation: ":0", port: 0, hash: undefined });
  return [
    create(FilterChainSchema, {
      name: "direct-tcp",
      filters: [
        keptAddress,
        ...connectionFilters(place, 0),
        tcpProxy({ ...tcpOptions(place, "encap"), clusters: "encap" }),
      ],
    }),
    create(FilterChainSchema, {
      name: "direct-http",
      filters: [keptAddress, requestFilter(place, { routes, port: 0, http2: false, grpcWeb: false })],
    }),
  ];
});

/** Of an east-west gateway. */
export function passingFilters(view: View, port: number, name: ClusterName): Filters {
  const place = chainPlace(view, "", undefined);
  return [...connectionFilters(place, port), tcpProxy({ ...tcpOptions(place, name), clusters: name })];
}

function chainPlace(view: View, subject: PolicySubject, service: Service | undefined): ChainPlace {
  const hasCache = service !== undefined && isWildcard(service.hostname);
  return {
    traits: view.read(waypointTraits, subject),
    authorization: view.read(authorizationFilters, subject),
    dnsCache: hasCache ? { hostname: service.hostname, ipMode: resolvedFamilies(view), resolver: "" } : undefined,
  };
}

/** Its hosts are any below a wildcard. */
function isOpen({ hostname, resolution }: Service): boolean {
  return resolution === "dynamic-dns" && isWildcard(hostname);
}

interface ServedPort {
  readonly service: Service;
  readonly port: ServicePort;
  /** Of the chain, and of the cluster that it leads to where no route states otherwise. */
  readonly name: string;
}

function httpFilters(view: View, place: ChainPlace, { service, port, name }: ServedPort): Filters {
  const { number, protocol } = port;
  const routes = serviceRoutes(view, { service, port: number, name });
  return [requestFilter(place, { routes, port: number, http2: isHttp2(protocol), grpcWeb: protocol === "GRPC-Web" })];
}

interface RequestChain {
  readonly routes: RouteConfiguration;
  readonly port: number;
  readonly http2: boolean;
  readonly grpcWeb: boolean;
}

function requestFilter({ traits, authorization, dnsCache }: ChainPlace, chain: RequestChain): Filters[number] {
  const { port } = chain;
  const late = traits.extensions.filter(({ phase }) => phase === "stats" || phase === "unspecified");
  return connectionManager({
    ...chain,
    port: noPort,
    traits: { ...traits.listener, extensions: traits.extensions.filter((one) => !late.includes(one)) },
    direction: "inbound",
    isWaypoint: true,
    namesCallers: traits.namesCallers,
    statPrefix: `inbound_0.0.0.0_${port}`,
    policies: authorization.http,
    late: lateFilters(late, dnsCache, traits),
  });
}

/** As in istiod, extensions of requests that are for single ports are for none of a waypoint's. */
const noPort = 0;

/** Extensions that only look on come after everything that may answer by itself. */
function lateFilters(
  extensions: readonly ExtensionFilter[],
  dnsCache: DnsCache | undefined,
  { findsPeers, carriesBaggage, stats }: WaypointTraits,
): readonly HttpFilter[] {
  return [
    ...(dnsCache ? [dynamicForwardProxy(dnsCache)] : []),
    ...httpPolicyFilters(extensions, { side: "inbound", port: noPort }),
    ...(findsPeers ? [peerMetadataFilter("upstream", carriesBaggage)] : []),
    ...stats.http,
  ];
}

function tcpFilters(view: View, place: ChainPlace, { service, port, name }: ServedPort): Filters {
  const { dnsCache, traits } = place;
  const route = tcpRoute(view, service, port.number);
  const { clusters, policy } = route ?? { clusters: name, policy: tcpPolicyOf(view, service, "") };
  const options = { ...tcpOptions(place, name), ...policy, clusters };
  return [
    ...connectionFilters(place, port.number),
    ...(isOpen(service) && dnsCache ? [dynamicForwardProxyBySni(dnsCache, port.number)] : []),
    ...protocolProxy(port.protocol, traits.listener.protocolFilters, options),
  ];
}

function connectionFilters({ traits, authorization }: ChainPlace, port: number): Filters {
  return [
    ...(traits.listener.networkMetadata ? [metadataExchange(traits.listener.exchangedLabels)] : []),
    ...networkPolicyFilters(traits.extensions, { side: "inbound", port }, authorization.network),
    ...traits.stats.network,
  ];
}

function tcpOptions({ traits: { listener } }: ChainPlace, statPrefix: string) {
  return { statPrefix, accessLog: listener.accessLogs.inbound.connection, idleTimeout: listener.idleTimeout };
}
