/** Envoy's HTTP connection manager in Istio's form. */
import { type Any, create, pack } from "@flotilla/proto";
import { type Filter, FilterSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { RouteConfiguration } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import {
  HttpConnectionManager_CodecType as CodecType,
  HttpConnectionManager_ForwardClientCertDetails as ForwardClientCert,
  type HttpConnectionManager,
  HttpConnectionManagerSchema,
  type HttpFilter,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { UuidRequestIdConfigSchema } from "@flotilla/proto/envoy/extensions/request_id/uuid/v3/uuid_pb";
import type { ForwardClientCertDetails } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { zeroDuration } from "../duration.ts";
import { cidrRange } from "../filters/authz/values.ts";
import { clientIdentity } from "../filters/client-identity.ts";
import { endpointPicker } from "../filters/endpoint-picker.ts";
import { httpPolicyFilters, type PolicyFilters } from "../filters/extension-filters.ts";
import { httpFilters } from "../filters/http-filters.ts";
import { lowerCaseHost } from "../filters/lower-case-host.ts";
import { buildTracing } from "../filters/tracing.ts";
import { headerCase } from "../header-case.ts";
import { connectionFields } from "./connection-settings.ts";
import type { ListenerTraits } from "./listener-traits.ts";
import { type HeaderSide, headerFields, staysInMesh, suppressesEnvoyHeaders } from "./proxy-header-fields.ts";

export interface ConnectionManagerInputs {
  readonly traits: ListenerTraits;
  readonly direction: "inbound" | "outbound";
  readonly statPrefix: string;
  /** Of a Gateway's server: instead of the prefix, as it is. */
  readonly statName?: string;
  /** A name to ask for by RDS, routes in place, or a name for those that come host by host (SRDS). */
  readonly routes: string | RouteConfiguration | ScopedRoutes;
  readonly grpcWeb: boolean;
  readonly http2?: boolean;
  /** The port that extensions are selected by; 0 where none is named. */
  readonly port: number;
  /** Of the workload. */
  readonly policies?: PolicyFilters<HttpFilter>;
  readonly late?: readonly HttpFilter[];
  /** An explicit forward proxy takes absolute URLs. */
  readonly allowAbsoluteUrl?: boolean;
  /** Callers are outside of the mesh. */
  readonly edge?: EdgeTraits;
  /** Callers are at the other end of a tunnel, whose end keeps who they are. */
  readonly isWaypoint?: boolean;
  /** A waypoint names them to those behind it. */
  readonly namesCallers?: boolean;
  readonly http3?: boolean;
  /** Routes may name an endpoint picker. */
  readonly picksEndpoints?: boolean;
}

/** Each host's routes are a resource of their own, found by the host that a request names. */
interface ScopedRoutes {
  readonly scoped: string;
}

/** A gateway's treatment of the headers in which callers describe themselves. */
export interface EdgeTraits {
  /** Proxies before it that x-forwarded-for may be believed of. */
  readonly trustedHops: number;
  readonly forwardClientCert: ForwardClientCertDetails;
}

export function connectionManager(inputs: ConnectionManagerInputs): Filter {
  const value = pack(HttpConnectionManagerSchema, buildConnectionManager(inputs));
  return create(FilterSchema, {
    name: "envoy.filters.network.http_connection_manager",
    configType: { case: "typedConfig", value },
  });
}

function buildConnectionManager(inputs: ConnectionManagerInputs): HttpConnectionManager {
  const { traits, direction, statPrefix, routes, grpcWeb, port, policies, late = [], edge } = inputs;
  const tracing = traits.tracing[direction];
  const knowsCallers = edge !== undefined || (direction === "outbound" && traits.useRemoteAddress);
  return create(HttpConnectionManagerSchema, {
    // The semicolon ends the prefix for stats tags whose values may hold dots.
    statPrefix: inputs.statName || `${statPrefix};`,
    routeSpecifier: routeSpecifier(routes),
    httpFilters: httpFilters({
      direction,
      first: [...(isScoped(routes) ? [lowerCaseHost] : []), ...(inputs.namesCallers === true ? [clientIdentity] : [])],
      suppressesEnvoyHeaders: suppressesEnvoyHeaders(traits.headers),
      // As in istiod, callers of the forward proxy are described to every service.
      staysInMesh: inputs.allowAbsoluteUrl !== true && staysInMesh(traits.headers),
      peerMetadata: traits.httpMetadata,
      exchangedLabels: traits.exchangedLabels,
      alpn: traits.alpn,
      grpcWeb,
      early: [
        ...httpPolicyFilters(traits.extensions, { side: direction, port }, policies),
        ...(inputs.picksEndpoints ? [endpointPicker] : []),
      ],
      late: [...traits.stats[direction].http, ...late],
    }),
    ...(tracing && { tracing: buildTracing(tracing) }),
    accessLog: [...traits.accessLogs[direction].request],
    useRemoteAddress: knowsCallers,
    ...internalAddresses(traits, knowsCallers),
    ...(edge && { xffNumTrustedHops: edge.trustedHops }),
    normalizePath: traits.normalizePath,
    proxy100Continue: traits.passes100Continue,
    ...connectionFields(traits, inputs.http2 === true),
    upgradeConfigs: [{ upgradeType: "websocket" }],
    requestIdExtension: { typedConfig: requestId(traits.samplesByRequestId[direction]) },
    ...(inputs.http3 && { codecType: CodecType.HTTP3, http3ProtocolOptions: {} }),
    ...http1(inputs),
    ...headerFields(traits.headers, headerSide(inputs), edge?.forwardClientCert),
    // The header is written here, and no certificate is known.
    ...(inputs.namesCallers === true && { forwardClientCertDetails: ForwardClientCert.ALWAYS_FORWARD_ONLY }),
  });
}

/** Envoy takes no caller for internal by itself. */
function internalAddresses({ internalRanges, isAlwaysInternal }: ListenerTraits, knowsCallers: boolean) {
  if (internalRanges.length === 0 || !(isAlwaysInternal || knowsCallers)) return {};
  return { internalAddressConfig: { cidrRanges: internalRanges.flatMap((range) => cidrRange(range) ?? []) } };
}

function headerSide({ edge, isWaypoint, direction }: ConnectionManagerInputs): HeaderSide {
  if (edge !== undefined) return "edge";
  return isWaypoint === true ? "waypoint" : direction;
}

function http1({ traits, edge, allowAbsoluteUrl = false }: ConnectionManagerInputs) {
  const preserves = traits.headers?.preserveHttp1HeaderCase === true;
  if (edge === undefined && !allowAbsoluteUrl && !traits.acceptHttp10 && !preserves) return {};
  return {
    httpProtocolOptions: {
      ...(allowAbsoluteUrl && { allowAbsoluteUrl: true }),
      ...(traits.acceptHttp10 && { acceptHttp10: true }),
      ...headerCase(preserves),
    },
  };
}

function requestId(useRequestIdForTraceSampling: boolean): Any {
  return pack(UuidRequestIdConfigSchema, create(UuidRequestIdConfigSchema, { useRequestIdForTraceSampling }));
}

function routeSpecifier(routes: ConnectionManagerInputs["routes"]) {
  if (typeof routes === "string")
    return { case: "rds" as const, value: { routeConfigName: routes, configSource: fromAds } };
  return isScoped(routes) ? bySrds(routes) : { case: "routeConfig" as const, value: routes };
}

function isScoped(routes: ConnectionManagerInputs["routes"]): routes is ScopedRoutes {
  return typeof routes !== "string" && "scoped" in routes;
}

const fromAds = {
  configSourceSpecifier: { case: "ads" as const, value: {} },
  initialFetchTimeout: zeroDuration,
  resourceApiVersion: 2,
};

/** The key of a scope is the host that a request names, without its port. */
const hostOfRequest = {
  type: {
    case: "headerValueExtractor" as const,
    value: { name: ":authority", elementSeparator: ":", extractType: { case: "index" as const, value: 0 } },
  },
};

function bySrds({ scoped }: ScopedRoutes) {
  return {
    case: "scopedRoutes" as const,
    value: {
      name: scoped,
      scopeKeyBuilder: { fragments: [hostOfRequest] },
      rdsConfigSource: fromAds,
      configSpecifier: { case: "scopedRds" as const, value: { scopedRdsConfigSource: fromAds } },
    },
  };
}
