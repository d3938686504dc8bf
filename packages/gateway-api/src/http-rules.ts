/** Rules of HTTPRoutes and GRPCRoutes as HTTP routes of a VirtualService: one for each match, since each is ordered on its own. */
import type { ConfigKey } from "@flotilla/model";
import { create, type Duration, DurationSchema, fromJson, type MessageInitShape, withSeconds } from "@flotilla/proto";
import {
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  type HTTPRetry,
  HTTPRetrySchema,
  type HTTPRoute,
  HTTPRouteDestinationSchema,
  HTTPRouteSchema,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type RouteContext, resolveBackend, weighted } from "./backends.ts";
import { filterFields, headersOf } from "./http-filters.ts";
import { grpcMatch, httpMatch } from "./http-matches.ts";
import type { BackendRef, GrpcRouteSpec, GrpcRule, HttpRouteSpec, HttpRule } from "./route-spec.ts";

/** `port` of the parent, 0 for all of its ports. @throws when a duration is none. */
export function httpRoutes(
  key: ConfigKey,
  spec: HttpRouteSpec,
  port: number,
  context: RouteContext,
): readonly HTTPRoute[] {
  return (spec.rules ?? []).flatMap((rule, index) => {
    const matches = (rule.matches ?? []).map((match) => httpMatch(match, port));
    const action = { ...actionOf(rule, context), ...timing(rule) };
    return eachMatch(matches, port).map((match) =>
      create(HTTPRouteSchema, { ...action, match, name: ruleName(key, rule, index) }),
    );
  });
}

export function grpcRoutes(
  key: ConfigKey,
  spec: GrpcRouteSpec,
  port: number,
  context: RouteContext,
): readonly HTTPRoute[] {
  return (spec.rules ?? []).flatMap((rule, index) => {
    const matches = (rule.matches ?? []).map((match) => grpcMatch(match, port));
    const action = actionOf(rule, context);
    return eachMatch(matches, port).map((match) =>
      create(HTTPRouteSchema, { ...action, match, name: ruleName(key, rule, index) }),
    );
  });
}

/** A rule without matches takes every request of the port. */
function eachMatch(matches: readonly HTTPMatchRequest[], port: number): readonly HTTPMatchRequest[][] {
  if (matches.length > 0) return matches.map((match) => [match]);
  return [port === 0 ? [] : [create(HTTPMatchRequestSchema, { port })]];
}

/** Of the HTTP routes that a rule becomes. */
export function ruleName({ namespace, name }: ConfigKey, rule: HttpRule | GrpcRule, index: number): string {
  return rule.name ?? `${namespace}.${name}.${index}`;
}

/** Requests without a backend are answered with 500. */
function actionOf({ backendRefs = [], filters = [] }: HttpRule | GrpcRule, context: RouteContext) {
  const fields = filterFields(filters, context);
  if (fields.redirect !== undefined) return fields;
  const route = httpDestinations(backendRefs, context);
  return route.length === 0 ? { ...fields, directResponse: { status: 500 } } : { ...fields, route };
}

/** Empty when nothing gets traffic. */
function httpDestinations(
  refs: readonly BackendRef[],
  context: RouteContext,
): MessageInitShape<typeof HTTPRouteDestinationSchema>[] {
  return weighted(refs).map(({ ref, weight }) => {
    const headers = headersOf(ref.filters ?? []);
    return create(HTTPRouteDestinationSchema, {
      destination: resolveBackend(ref, context).destination,
      weight,
      ...(headers && { headers }),
    });
  });
}

/** With retries `backendRequest` limits each try, else the one there is. */
function timing({ timeouts = {}, retry }: HttpRule): { readonly timeout?: Duration; readonly retries?: HTTPRetry } {
  const { request, backendRequest } = timeouts;
  if (retry === undefined) {
    const limit = backendRequest ?? request;
    return limit === undefined ? {} : { timeout: durationOf(limit) };
  }
  const { attempts = 2, codes = [], backoff } = retry;
  const retries = create(HTTPRetrySchema, {
    attempts,
    retryOn: ["connect-failure", "refused-stream", "unavailable", "cancelled", ...codes].join(","),
    ...(backoff !== undefined && { backoff: durationOf(backoff) }),
    ...(backendRequest !== undefined && { perTryTimeout: durationOf(backendRequest) }),
  });
  return { retries, ...(request !== undefined && { timeout: durationOf(request) }) };
}

function durationOf(text: string): Duration {
  return fromJson(DurationSchema, withSeconds(DurationSchema, text));
}
