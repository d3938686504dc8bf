/** A route's settings for HTTP filters: faults to inject, cross-origin policy, sessions that stay with one endpoint. */
import type { RouteSession } from "@flotilla/gateway-api";
import { type Any, create, type GenMessage, type Message, pack } from "@flotilla/proto";
import { FaultDelaySchema } from "@flotilla/proto/envoy/extensions/filters/common/fault/v3/fault_pb";
import { CorsPolicySchema } from "@flotilla/proto/envoy/extensions/filters/http/cors/v3/cors_pb";
import {
  type FaultAbort,
  FaultAbortSchema,
  HTTPFaultSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/fault/v3/fault_pb";
import {
  type StatefulSession,
  StatefulSessionPerRouteSchema,
  StatefulSessionSchema,
} from "@flotilla/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session_pb";
import { CookieBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie_pb";
import { HeaderBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/header/v3/header_pb";
import { StringMatcherSchema } from "@flotilla/proto/envoy/type/matcher/v3/string_pb";
import {
  type CorsPolicy,
  CorsPolicy_UnmatchedPreflights,
  type HTTPFaultInjection,
  type HTTPFaultInjection_Abort,
  type HTTPFaultInjection_Delay,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { hundredths, millionths } from "./fraction.ts";
import { stringMatcher } from "./string-match.ts";

export const faultFilter = "envoy.filters.http.fault";

export function httpFault({ delay, abort }: HTTPFaultInjection): Any {
  const fault = create(HTTPFaultSchema, {
    // A delay without a duration is none, as is an abort without an answer.
    ...(delay?.httpDelayType.case === "fixedDelay" && { delay: faultDelay(delay) }),
    ...(abort && abort.errorType.case !== undefined && { abort: faultAbort(abort) }),
  });
  return pack(HTTPFaultSchema, fault);
}

/** The field of whole percents is older than the exact one. */
function faultDelay({ httpDelayType, percentage, percent }: HTTPFaultInjection_Delay) {
  return create(FaultDelaySchema, {
    percentage: percentage === undefined ? hundredths(percent) : millionths(percentage),
    ...(httpDelayType.case === "fixedDelay" && { faultDelaySecifier: httpDelayType }),
  });
}

function faultAbort({ errorType, percentage }: HTTPFaultInjection_Abort) {
  return create(FaultAbortSchema, {
    ...(percentage && { percentage: millionths(percentage) }),
    errorType: abortedWith(errorType),
  });
}

function abortedWith(error: HTTPFaultInjection_Abort["errorType"]): FaultAbort["errorType"] {
  if (error.case === "httpStatus") return { case: "httpStatus", value: error.value };
  if (error.case !== "grpcStatus") return { case: undefined };
  return { case: "grpcStatus", value: Math.max(0, grpcCodes.indexOf(error.value)) };
}

const grpcCodes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
];

export const corsFilter = "envoy.filters.http.cors";

export function corsPolicy(policy: CorsPolicy): Any {
  const { allowOrigins, allowOrigin, maxAge, allowCredentials, unmatchedPreflights } = policy;
  const origins =
    allowOrigins.length > 0
      ? allowOrigins.flatMap((origin) => stringMatcher(origin) ?? [])
      : allowOrigin.map((value) => create(StringMatcherSchema, { matchPattern: { case: "exact", value } }));
  const cors = create(CorsPolicySchema, {
    filterEnabled: { defaultValue: hundredths(100) },
    allowOriginStringMatch: origins,
    allowMethods: policy.allowMethods.join(","),
    allowHeaders: policy.allowHeaders.join(","),
    exposeHeaders: policy.exposeHeaders.join(","),
    ...(maxAge && { maxAge: maxAge.seconds.toString() }),
    ...(allowCredentials !== undefined && { allowCredentials }),
    forwardNotMatchingPreflights: unmatchedPreflights !== CorsPolicy_UnmatchedPreflights.IGNORE,
  });
  return pack(CorsPolicySchema, cors);
}

export const sessionFilter = "envoy.filters.http.stateful_session";

/** For requests that keep to one endpoint; a cookie (`name` or `name:/path`) counts more than a header. */
export function sessionState(cookie: string | undefined, header: string | undefined): StatefulSession | undefined {
  if (!cookie && header) {
    const state = create(HeaderBasedSessionStateSchema, { name: header });
    return statefulSession("envoy.http.stateful_session.header", HeaderBasedSessionStateSchema, state);
  }
  if (!cookie) return undefined;
  const [name = "", path] = cookie.split(":");
  const state = create(CookieBasedSessionStateSchema, { cookie: { name, path: path ?? "/" } });
  return statefulSession("envoy.http.stateful_session.cookie", CookieBasedSessionStateSchema, state);
}

/** For a route that asks for sessions of its own. */
export function routeSession({ carrier, name, lifetime }: RouteSession): StatefulSession {
  if (carrier === "header") {
    const state = create(HeaderBasedSessionStateSchema, { name });
    return statefulSession("envoy.http.stateful_session.header", HeaderBasedSessionStateSchema, state);
  }
  const cookie = { name, path: "/", ...(lifetime && { ttl: lifetime }) };
  const state = create(CookieBasedSessionStateSchema, { cookie });
  return statefulSession("envoy.http.stateful_session.cookie", CookieBasedSessionStateSchema, state);
}

function statefulSession<State extends Message>(name: string, schema: GenMessage<State>, state: State) {
  return create(StatefulSessionSchema, { sessionState: { name, typedConfig: pack(schema, state) } });
}

/** For a virtual host or route, where the filter before the routes does nothing by itself. */
export function sessionOfRoutes(statefulSession: StatefulSession): Any {
  const override = { case: "statefulSession", value: statefulSession } as const;
  return pack(StatefulSessionPerRouteSchema, create(StatefulSessionPerRouteSchema, { override }));
}
