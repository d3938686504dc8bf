/** One HTTP route of a VirtualService in Envoy's form, once a match. */
import type { RouteExtra } from "@flotilla/gateway-api";
import { type ConfigKey, parseClusterName } from "@flotilla/model";
import { type Any, create } from "@flotilla/proto";
import { HeaderValueOptionSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { type Route, type RouteMatch, RouteSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { HTTPMatchRequest, HTTPRoute } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { pickerFilter, pickerOfRoute, withPickers } from "../filters/endpoint-picker.ts";
import { directResponseAction, redirectAction } from "./redirect.ts";
import {
  type ActionContext,
  type HeaderMutations,
  headerMutations,
  knownDestination,
  routeAction,
  singleDestinationHeaders,
  weighty,
} from "./route-action.ts";
import {
  corsFilter,
  corsPolicy,
  faultFilter,
  httpFault,
  routeSession,
  sessionFilter,
  sessionOfRoutes,
} from "./route-filters.ts";
import { isCatchAll, routeMatch } from "./route-match.ts";

export interface RouteContext extends ActionContext {
  /** See `hasSegmentPrefixes`. */
  readonly hasSegmentPrefixes: boolean;
  /** Extra settings of routes of the Gateway API, by the name of the HTTP route. */
  readonly extraOf: (name: string) => RouteExtra | undefined;
  /** Requests arrive by TLS, which decides the default port of redirects. */
  readonly arrivesByTls: boolean;
  /** Answers advertise HTTP/3 at the same port. */
  readonly advertisesHttp3: boolean;
}

/** A route with those of its matches that are meant for a proxy and port; a match undefined: of all requests. */
export interface ConcerningRoute {
  readonly http: HTTPRoute;
  readonly matches: readonly (HTTPMatchRequest | undefined)[];
}

/** The routes of a VirtualService for one port, in order, up to the first that takes everything. */
export function virtualServiceRoutes(
  key: ConfigKey,
  concerning: readonly ConcerningRoute[],
  context: RouteContext,
): readonly Route[] {
  const routes: Route[] = [];
  for (const { http, matches } of concerning) {
    for (const match of matches) {
      const route = oneRoute(key, http, match, context);
      if (route === undefined) continue;
      routes.push(route);
      if (match === undefined || (route.match !== undefined && isCatchAll(route.match))) return routes;
    }
  }
  return routes;
}

function oneRoute(
  key: ConfigKey,
  http: HTTPRoute,
  match: HTTPMatchRequest | undefined,
  context: RouteContext,
): Route | undefined {
  const { listenPort } = context;
  const action = actionOf(http, context);
  if (action === undefined) return undefined;
  const envoyMatch = routeMatch(match, context.hasSegmentPrefixes);
  return create(RouteSchema, {
    name: match !== undefined && match.name !== "" ? `${http.name}.${match.name}` : http.name,
    match: envoyMatch,
    action,
    metadata: configMetadata(key),
    decorator: { operation: operationOf(action, envoyMatch, key, listenPort) },
    statPrefix: match?.statPrefix ?? "",
    typedPerFilterConfig: perFilterConfig(http, context),
    ...joinMutations([
      headerMutations(http.headers),
      action.case === "route" ? singleDestinationHeaders(http) : undefined,
      context.advertisesHttp3 ? alternativeService(listenPort) : undefined,
    ]),
  });
}

/** Clients keep it for a day. */
function alternativeService(port: number): HeaderMutations {
  const header = create(HeaderValueOptionSchema, {
    header: { key: "alt-svc", value: `h3=":${port}"; ma=86400` },
  });
  return {
    requestHeadersToAdd: [],
    requestHeadersToRemove: [],
    responseHeadersToAdd: [header],
    responseHeadersToRemove: [],
  };
}

function actionOf(http: HTTPRoute, context: RouteContext): Route["action"] | undefined {
  if (http.redirect !== undefined) {
    const redirect = redirectAction(http.redirect, context);
    return redirect === undefined ? { case: undefined } : { case: "redirect", value: redirect };
  }
  if (http.directResponse !== undefined) {
    return { case: "directResponse", value: directResponseAction(http.directResponse) };
  }
  const value = routeAction(http, context);
  const pickers = context.extraOf(http.name)?.pickers;
  return { case: "route", value: pickers === undefined ? value : withPickers(value, pickers) };
}

/** The text by which traces name the operation: the one destination, or the VirtualService when there are several. */
function operationOf(action: Route["action"], match: RouteMatch, key: ConfigKey, listenPort: number): string {
  const path = pathText(match);
  if (action.case === "route" && action.value.clusterSpecifier.case === "cluster") {
    const cluster = parseClusterName(action.value.clusterSpecifier.value);
    if (cluster !== undefined) return `${cluster.hostname}:${cluster.port}${path}`;
  }
  return `${key.name}:${listenPort}${path}`;
}

function pathText({ pathSpecifier }: RouteMatch): string {
  switch (pathSpecifier.case) {
    case "prefix":
      return `${pathSpecifier.value}*`;
    case "path":
      return pathSpecifier.value;
    case "safeRegex":
      return pathSpecifier.value.regex;
    default:
      return "/*";
  }
}

function configMetadata({ namespace, name }: ConfigKey) {
  const config = `/apis/networking.istio.io/v1/namespaces/${namespace}/virtual-service/${name}`;
  return { filterMetadata: { istio: { config } } };
}

function perFilterConfig(http: HTTPRoute, context: RouteContext): { [filter: string]: Any } {
  const { fault, corsPolicy: cors, route } = http;
  const extra = context.extraOf(http.name);
  const [ofService] = weighty(route).flatMap(
    ({ destination }) => knownDestination(destination, context)?.session ?? [],
  );
  const session = extra?.session === undefined ? ofService : sessionOfRoutes(routeSession(extra.session));
  return {
    ...(fault && { [faultFilter]: httpFault(fault) }),
    ...(cors && { [corsFilter]: corsPolicy(cors) }),
    ...(session && { [sessionFilter]: session }),
    ...(extra?.picker && { [pickerFilter]: pickerOfRoute(extra.picker) }),
  };
}

function joinMutations(mutations: readonly (HeaderMutations | undefined)[]): HeaderMutations {
  const all = mutations.filter((one) => one !== undefined);
  return {
    requestHeadersToAdd: all.flatMap((one) => one.requestHeadersToAdd),
    requestHeadersToRemove: all.flatMap((one) => one.requestHeadersToRemove),
    responseHeadersToAdd: all.flatMap((one) => one.responseHeadersToAdd),
    responseHeadersToRemove: all.flatMap((one) => one.responseHeadersToRemove),
  };
}
