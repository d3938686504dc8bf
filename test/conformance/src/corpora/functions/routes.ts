/** Functions about routes, virtual hosts and delegates. */

import { type EndpointPicker, hasGatewaySemantics, hasSegmentPrefixes } from "@flotilla/gateway-api";
import { type JsonObject, matchesLabels, ownValue, resolveShortName } from "@flotilla/model";
import { create, fromJson, type JsonValue, toJson } from "@flotilla/proto";
import { RouteSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { MetadataMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/metadata_pb";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import {
  DestinationSchema,
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  HTTPRouteSchema,
  type StringMatch,
  StringMatchSchema,
  VirtualServiceSchema,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import {
  type ActionContext,
  claimMatcher,
  conflicts,
  consistentHashOf,
  destinationCluster,
  inUrl,
  isCatchAll,
  mergeDelegateRoutes,
  mergeMatches,
  routeAction,
  serviceDomains,
  virtualServiceRoutes,
} from "@flotilla/xds-server/functions";
import type { Counterparts } from "./counterpart.ts";

interface GoService {
  readonly Hostname: string;
  readonly Ports?: readonly { readonly Port: number }[];
  readonly DefaultAddress?: string;
  readonly ClusterVIPs?: { readonly Addresses: Readonly<Record<string, readonly string[]>> };
  readonly Attributes?: { readonly Aliases?: readonly { readonly Hostname: string }[] };
}
interface GoProxy {
  readonly DNSDomain: string;
  readonly IPAddresses?: readonly string[];
  readonly Metadata?: { readonly ClusterID?: string; readonly Namespace?: string };
  readonly SidecarScope?: { readonly destinationRules?: Readonly<Record<string, readonly GoRule[]>> };
}
interface GoRule {
  readonly rule?: { readonly Spec: JsonObject };
  readonly Spec?: JsonObject;
}

const matchOf = (json: JsonObject) => fromJson(HTTPMatchRequestSchema, json as JsonValue);
const routeOf = (json: JsonObject) => fromJson(HTTPRouteSchema, json as JsonValue);

const noContext: ActionContext = {
  listenPort: 80,
  hasGatewaySemantics: false,
  destinations: new Map(),
  marksMirrored: false,
  defaultRetries: undefined,
  bounds: "grpc-timeout",
};

export const routeFunctions: Counterparts = {
  hasConflict: (root: JsonObject, leaf: JsonObject) => [conflicts(matchOf(root), matchOf(leaf))],
  mergeHTTPMatchRequests: (roots: readonly JsonObject[], leaves: readonly JsonObject[]) => {
    const merged = mergeMatches(roots.map(matchOf), leaves.map(matchOf));
    const json = merged?.map((match) => toJson(HTTPMatchRequestSchema, match)) ?? null;
    return [json, merged === undefined];
  },
  MergeHTTPRoutes: (root: JsonObject, leaves: readonly JsonObject[]) => [
    mergeDelegateRoutes(routeOf(root), leaves.map(routeOf)).map((route) => toJson(HTTPRouteSchema, route)),
  ],
  mergeHTTPRoute: (root: JsonObject, leaf: JsonObject) => {
    const [route] = mergeDelegateRoutes(routeOf(root), [routeOf(leaf)]);
    return [route === undefined ? null : toJson(HTTPRouteSchema, route)];
  },
  ResolveShortnameToFQDN: (host: string, meta: { readonly Namespace?: string; readonly Domain?: string }) => [
    resolveShortName(host, meta.Namespace ?? "", meta.Domain ?? ""),
  ],
  DomainName: (host: string, port: number) => [`${inUrl(host)}:${port}`],
  TraceOperation: (host: string, port: number) => [`${inUrl(host)}:${port}/*`],
  generateVirtualHostDomains: (service: GoService, _listenPort: number, _port: number, proxy: GoProxy) => {
    const inCluster = service.ClusterVIPs?.Addresses[proxy.Metadata?.ClusterID ?? ""] ?? [];
    const isIpv6 = (address: string) => address.includes(":");
    const hasFamily = (address: string) => proxy.IPAddresses?.some((own) => isIpv6(own) === isIpv6(address));
    const names = {
      hostname: service.Hostname,
      aliases: service.Attributes?.Aliases?.map(({ Hostname }) => Hostname) ?? [],
      addresses: inCluster.filter(hasFamily),
      hasPodNames: false,
      mayEndInDot: true,
    };
    const { all, short } = serviceDomains(names, proxy.DNSDomain);
    return [all, short];
  },
  GetDestinationCluster: (destination: JsonObject, service: GoService | null, listenPort: number) => {
    const onlyPort = service?.Ports?.length === 1 ? service.Ports[0]?.Port : undefined;
    const found = service === null ? undefined : { hostname: service.Hostname, onlyPort };
    const message = fromJson(DestinationSchema, destination as JsonValue);
    return [destinationCluster(message, { listenPort, service: found })];
  },
  MirrorPercent: (route: JsonObject) => {
    const [mirror] = routeAction(routeOf(route), noContext).requestMirrorPolicies;
    const json =
      mirror?.runtimeFraction &&
      toJson(RouteSchema, create(RouteSchema, { match: { runtimeFraction: mirror.runtimeFraction } }));
    return [
      (json as { readonly match?: { readonly runtimeFraction?: unknown } } | undefined)?.match?.runtimeFraction ?? null,
    ];
  },
  IsCatchAllRoute: (route: JsonObject) => {
    const { match } = fromJson(RouteSchema, route as JsonValue);
    return [match !== undefined && isCatchAll(match)];
  },
  translateMetadataMatch: (name: string, match: JsonObject | null) => {
    const value: StringMatch = fromJson(StringMatchSchema, (match ?? {}) as JsonValue);
    const matcher = claimMatcher(name, value, false);
    return [matcher === undefined ? null : toJson(MetadataMatcherSchema, matcher)];
  },
  BuildHTTPRoutesForVirtualService: buildRoutes,
};

interface GoPicker {
  readonly FQDN: string;
  readonly Port: string;
  readonly FailureModeAllow?: boolean;
}

interface GoRouteOptions {
  readonly InferencePoolExtensionRefs?: Readonly<Record<string, GoPicker>>;
}

function pickerOf({ FQDN, Port, FailureModeAllow = false }: GoPicker): EndpointPicker {
  return { host: FQDN, port: Number(Port), failsOpen: FailureModeAllow };
}

function buildRoutes(
  proxy: GoProxy,
  config: {
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec: JsonObject;
  },
  listenPort: number,
  gateways: readonly string[],
  { InferencePoolExtensionRefs: pickers = {} }: GoRouteOptions = {},
): readonly unknown[] {
  const { name, namespace = "" } = config.metadata;
  const rules = proxy.SidecarScope?.destinationRules ?? {};
  const concerns = (match: HTTPMatchRequest): boolean =>
    (match.port === 0 || match.port === listenPort) &&
    (match.gateways.length === 0 || match.gateways.some((gateway) => gateways.includes(gateway))) &&
    (match.sourceNamespace === "" || match.sourceNamespace === proxy.Metadata?.Namespace) &&
    matchesLabels(match.sourceLabels, {});
  const concerning = fromJson(VirtualServiceSchema, config.spec as JsonValue).http.map((http) => {
    return { http, matches: http.match.length === 0 ? [undefined] : http.match.filter(concerns) };
  });
  const destinations = new Map(
    concerning
      .flatMap(({ http: { route, mirror, mirrors } }) => [...route, ...mirrors, { destination: mirror }])
      .flatMap(({ destination }) => {
        if (destination === undefined) return [];
        const rule = rules[destination.host]?.[0];
        const spec = rule?.rule?.Spec ?? rule?.Spec;
        const message = spec && fromJson(DestinationRuleSchema, spec as JsonValue);
        const hash = message && consistentHashOf(message, destination.subset, destination.port?.number ?? 0);
        const cluster = destinationCluster(destination, { listenPort, service: undefined });
        return [[destination, { cluster, hash, session: undefined }] as const];
      }),
  );
  const routes = virtualServiceRoutes({ kind: "VirtualService", namespace, name }, concerning, {
    ...noContext,
    ...{ listenPort, destinations },
    hasGatewaySemantics: hasGatewaySemantics(config.metadata.annotations ?? {}),
    hasSegmentPrefixes: hasSegmentPrefixes(config.metadata.annotations ?? {}),
    extraOf: (route) => {
      const picker = ownValue(pickers, route);
      return picker && { picker: pickerOf(picker) };
    },
    arrivesByTls: false,
    advertisesHttp3: false,
  });
  return [routes.length === 0 ? null : routes.map((route) => toJson(RouteSchema, route))];
}
