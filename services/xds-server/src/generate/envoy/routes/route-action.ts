/** Where a route of a VirtualService sends a request, and how: with which headers, time-outs and retries. */
import { clusterName, compareText, quoteRegex } from "@flotilla/model";
import { type Any, create, type Duration, type MessageInitShape } from "@flotilla/proto";
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type RouteAction,
  RouteAction_ClusterNotFoundResponseCode,
  type RouteAction_MaxStreamDuration,
  RouteAction_MaxStreamDurationSchema,
  type RouteAction_RequestMirrorPolicy,
  RouteAction_RequestMirrorPolicySchema,
  RouteActionSchema,
  type WeightedCluster_ClusterWeight,
  WeightedCluster_ClusterWeightSchema,
  WeightedClusterSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { LoadBalancerSettings_ConsistentHashLB } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type {
  Destination,
  Headers,
  Headers_HeaderOperations,
  HTTPRetry,
  HTTPRewrite,
  HTTPRoute,
  HTTPRouteDestination,
  Percent,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { unknownCluster } from "../clusters/cluster-parts.ts";
import { zeroDuration } from "../duration.ts";
import { hundredths, millionths } from "./fraction.ts";
import { hashPolicy } from "./hash-policy.ts";
import { retryPolicy } from "./retry.ts";

/** A destination as the proxy resolves it. */
export interface KnownDestination {
  readonly cluster: string;
  /** The hash settings of its DestinationRule. */
  readonly hash: LoadBalancerSettings_ConsistentHashLB | undefined;
  /** How sessions stay with an endpoint, if its service asks for it. */
  readonly session: Any | undefined;
}

export interface ActionContext {
  /** 0 on listeners that take requests for any port. */
  readonly listenPort: number;
  /** See `hasGatewaySemantics`. */
  readonly hasGatewaySemantics: boolean;
  /** Of every destination of the routes. */
  readonly destinations: ReadonlyMap<Destination, KnownDestination>;
  /** Mirrored requests get a host name that distinguishes them. */
  readonly marksMirrored: boolean;
  /** The mesh's retries for routes without their own. */
  readonly defaultRetries: HTTPRetry | undefined;
  /** The field that bounds the deadline of a gRPC call: gRPC's own clients do not read Envoy's older one. */
  readonly bounds: "grpc-timeout" | "stream-duration";
}

export function routeAction(route: HTTPRoute, context: ActionContext): RouteAction {
  const { retries, timeout, rewrite } = route;
  const hashes = weighty(route.route).flatMap(({ destination }) => knownDestination(destination, context)?.hash ?? []);
  // A retry would break the affinity that a hash gives; several destinations give none.
  const avoidsPreviousHosts = hashes.length === 0 || route.route.length > 1;
  const retry = retryPolicy(retries ?? context.defaultRetries, avoidsPreviousHosts);
  const host = rewrite?.authority || authority(route.headers) || singleAuthority(route.route);
  return create(RouteActionSchema, {
    clusterSpecifier: clusterSpecifier(route.route, context),
    timeout: timeout ?? zeroDuration,
    ...grpcDeadline(timeout ?? zeroDuration, context.bounds),
    ...(retry && { retryPolicy: retry }),
    ...pathRewrite(rewrite, context.hasGatewaySemantics ? prefixOf(route) : undefined),
    ...(host !== "" && { hostRewriteSpecifier: { case: "hostRewriteLiteral", value: host } }),
    requestMirrorPolicies: mirrors(route, context),
    hashPolicy: hashes.flatMap((hash) => hashPolicy(hash) ?? []),
    ...(context.hasGatewaySemantics && {
      clusterNotFoundResponseCode: RouteAction_ClusterNotFoundResponseCode.INTERNAL_SERVER_ERROR,
    }),
  });
}

function grpcDeadline(
  longest: Duration,
  bounds: ActionContext["bounds"],
): { maxGrpcTimeout?: Duration; maxStreamDuration?: RouteAction_MaxStreamDuration } {
  if (bounds === "grpc-timeout") return { maxGrpcTimeout: longest };
  return { maxStreamDuration: create(RouteAction_MaxStreamDurationSchema, { maxStreamDuration: longest }) };
}

/** With one destination its headers are the route's. */
export function singleDestinationHeaders({ route }: HTTPRoute): HeaderMutations | undefined {
  const [only, ...others] = route;
  return only === undefined || others.length > 0 ? undefined : headerMutations(only.headers);
}

interface DestinationService {
  /** Of the listener that requests come to; 0: any. */
  readonly listenPort: number;
  /** The service behind the destination's host, and its only port if it has just one; undefined: unknown. */
  readonly service: { readonly hostname: string; readonly onlyPort: number | undefined } | undefined;
  /** The name of its cluster where it isn't that of every proxy's. */
  readonly clusterOf?: ((port: number, subset: string, hostname: string) => string) | undefined;
}

/** The name of a destination's cluster. */
export function destinationCluster(
  destination: Destination,
  { listenPort, service, clusterOf }: DestinationService,
): string {
  if (destination.host === "") return unknownCluster;
  const port = destination.port?.number ?? service?.onlyPort ?? listenPort;
  const hostname = service?.hostname ?? destination.host;
  if (clusterOf !== undefined) return clusterOf(port, destination.subset, hostname);
  return clusterName("outbound", port, destination.subset, hostname);
}

export function knownDestination(
  destination: Destination | undefined,
  { destinations }: Pick<ActionContext, "destinations">,
): KnownDestination | undefined {
  return destination && destinations.get(destination);
}

function clusterOf(destination: Destination | undefined, context: ActionContext): string {
  return knownDestination(destination, context)?.cluster ?? "";
}

function singleAuthority(routes: readonly HTTPRouteDestination[]): string {
  const [only, ...others] = routes;
  return others.length > 0 ? "" : authority(only?.headers);
}

/** Those that get requests: a weight counts where there are several. */
export function weighty(routes: readonly HTTPRouteDestination[]): readonly HTTPRouteDestination[] {
  return routes.length > 1 ? routes.filter(({ weight }) => weight > 0) : routes;
}

function clusterSpecifier(
  routes: readonly HTTPRouteDestination[],
  context: ActionContext,
): RouteAction["clusterSpecifier"] {
  const [only, ...others] = routes;
  if (only?.destination !== undefined && others.length === 0) {
    return { case: "cluster", value: clusterOf(only.destination, context) };
  }
  const clusters = weighty(routes).map((one) => clusterWeight(one, context));
  return { case: "weightedClusters", value: create(WeightedClusterSchema, { clusters }) };
}

function clusterWeight(one: HTTPRouteDestination, context: ActionContext): WeightedCluster_ClusterWeight {
  const host = authority(one.headers);
  return create(WeightedCluster_ClusterWeightSchema, {
    name: clusterOf(one.destination, context),
    weight: one.weight,
    ...headerMutations(one.headers),
    ...(host !== "" && { hostRewriteSpecifier: { case: "hostRewriteLiteral", value: host } }),
  });
}

/** The prefix that a route of the Gateway API replaces, without the slash at its end. */
function prefixOf({ match: [match] }: HTTPRoute): string {
  const path = match?.uri?.matchType;
  return path?.case === "prefix" ? path.value.replace(/\/$/, "") : "";
}

/** `prefix` is given where it ends at a path segment: its slash must not stay behind when it is taken away. */
function pathRewrite(
  rewrite: HTTPRewrite | undefined,
  prefix: string | undefined,
): MessageInitShape<typeof RouteActionSchema> {
  if (rewrite === undefined) return {};
  const { uri, uriRegexRewrite } = rewrite;
  if (uri === "/" && prefix !== undefined) {
    return { regexRewrite: { pattern: { regex: `^${quoteRegex(prefix)}(/?)(.*)` }, substitution: "/\\2" } };
  }
  if (uriRegexRewrite !== undefined) {
    return { regexRewrite: { pattern: { regex: uriRegexRewrite.match }, substitution: uriRegexRewrite.rewrite } };
  }
  return { prefixRewrite: uri };
}

function mirrors(route: HTTPRoute, context: ActionContext): RouteAction_RequestMirrorPolicy[] {
  const { mirror, mirrorPercentage, mirrorPercent } = route;
  const single = mirror && mirrorPolicy(mirror, mirrorPercentage, mirrorPercent, context);
  const several = route.mirrors.map(
    ({ destination, percentage }) => destination && mirrorPolicy(destination, percentage, undefined, context),
  );
  return [single, ...several].filter((policy) => policy !== undefined);
}

/** Everything is mirrored unless a share is set; a share of zero means no mirror. */
function mirrorPolicy(
  destination: Destination,
  percentage: Percent | undefined,
  percent: number | undefined,
  context: ActionContext,
): RouteAction_RequestMirrorPolicy | undefined {
  if (percentage !== undefined ? percentage.value <= 0 : percent === 0) return undefined;
  return create(RouteAction_RequestMirrorPolicySchema, {
    cluster: clusterOf(destination, context),
    runtimeFraction: { defaultValue: percentage === undefined ? hundredths(percent ?? 100) : millionths(percentage) },
    traceSampled: false,
    disableShadowHostSuffixAppend: !context.marksMirrored,
  });
}

export interface HeaderMutations {
  readonly requestHeadersToAdd: HeaderValueOption[];
  readonly requestHeadersToRemove: string[];
  readonly responseHeadersToAdd: HeaderValueOption[];
  readonly responseHeadersToRemove: string[];
}

/** Header manipulation of a route or a destination. Pseudo headers and the host cannot be manipulated as headers; the latter is rewritten (`authority`). */
export function headerMutations(headers: Headers | undefined): HeaderMutations {
  return {
    requestHeadersToAdd: added(headers?.request),
    requestHeadersToRemove: removed(headers?.request),
    responseHeadersToAdd: added(headers?.response),
    responseHeadersToRemove: removed(headers?.response),
  };
}

/** The host that a request header operation sets. */
function authority(headers: Headers | undefined): string {
  const set = Object.entries(headers?.request?.set ?? {}).find(([name]) => isAuthority(name));
  return set?.[1] ?? "";
}

function added(operations: Headers_HeaderOperations | undefined): HeaderValueOption[] {
  const { OVERWRITE_IF_EXISTS_OR_ADD, APPEND_IF_EXISTS_OR_ADD } = HeaderValueOption_HeaderAppendAction;
  return [
    ...options(operations?.set ?? {}, OVERWRITE_IF_EXISTS_OR_ADD),
    ...options(operations?.add ?? {}, APPEND_IF_EXISTS_OR_ADD),
  ];
}

function options(
  headers: Readonly<Record<string, string>>,
  appendAction: HeaderValueOption_HeaderAppendAction,
): HeaderValueOption[] {
  return Object.entries(headers)
    .filter(([name]) => !isInternal(name))
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, value]) => create(HeaderValueOptionSchema, { header: { key, value }, appendAction }));
}

function removed(operations: Headers_HeaderOperations | undefined): string[] {
  return (operations?.remove ?? []).filter((name) => !isInternal(name));
}

function isAuthority(name: string): boolean {
  return name.toLowerCase() === "host" || name.toLowerCase() === ":authority";
}

function isInternal(name: string): boolean {
  return name.startsWith(":") || isAuthority(name);
}
