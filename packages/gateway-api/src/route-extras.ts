/** Features of routes' rules that VirtualServices have no field for: the endpoint picker of a pool, and sessions. */
import { type Config, type ConfigKey, fnv1a } from "@flotilla/model";
import { type Duration, DurationSchema, fromJson, withSeconds } from "@flotilla/proto";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type EndpointPicker, type RouteContext, resolveBackend, weighted } from "./backends.ts";
import { ruleName } from "./http-rules.ts";
import type { BackendRef, HttpRouteSpec, HttpRule, SessionPersistence } from "./route-spec.ts";

/** Requests of a session stay with one endpoint. */
export interface RouteSession {
  readonly carrier: "cookie" | "header";
  /** Of the cookie or header. */
  readonly name: string;
  /** How long the cookie lasts; undefined: until the client forgets its session. */
  readonly lifetime?: Duration | undefined;
}

export interface RouteExtra {
  /** Of all requests of the rule. */
  readonly picker?: EndpointPicker;
  /** By the hosts of pools, where it depends on the back end which of them is asked (decision 0262). */
  readonly pickers?: ReadonlyMap<string, EndpointPicker>;
  readonly session?: RouteSession;
}

/** By the name of the HTTP route in the VirtualService. */
export type RouteExtras = ReadonlyMap<string, RouteExtra>;

/** A VirtualService that routes stand for. */
export interface RoutedConfig extends Config<VirtualService> {
  readonly extras?: RouteExtras;
}

export function routeExtras(
  routes: readonly Config[],
  contextOf: (route: ConfigKey) => RouteContext,
): RouteExtras | undefined {
  const found = routes.flatMap(({ key, spec }) =>
    ((spec as HttpRouteSpec).rules ?? []).flatMap((rule, index) => {
      const name = ruleName(key, rule, index);
      const extra = extraOf(key, rule, { name, contextOf });
      return Object.keys(extra).length === 0 ? [] : [[name, extra] as const];
    }),
  );
  return found.length === 0 ? undefined : new Map(found);
}

function extraOf(
  key: ConfigKey,
  rule: HttpRule,
  { name, contextOf }: { readonly name: string; readonly contextOf: (route: ConfigKey) => RouteContext },
): RouteExtra {
  const { sessionPersistence, backendRefs = [] } = rule;
  return {
    ...(key.kind === "HTTPRoute" && pickersOf(backendRefs, contextOf(key))),
    ...(sessionPersistence && {
      session: sessionOf(sessionPersistence, `${key.kind}/${key.namespace}/${key.name}/${name}`),
    }),
  };
}

/** A single pool that is the last back end has its picker see all requests of the rule, as with istiod. */
function pickersOf(refs: readonly BackendRef[], context: RouteContext): Pick<RouteExtra, "picker" | "pickers"> {
  const resolved = weighted(refs).map(({ ref }) => resolveBackend(ref, context));
  const found = resolved.flatMap(({ destination, picker }) => (picker ? [[destination.host, picker] as const] : []));
  const last = resolved.at(-1)?.picker;
  if (found.length === 1 && last !== undefined) return { picker: last };
  return found.length === 0 ? {} : { pickers: new Map(found) };
}

/** Sessions of rules without a name of their own must not be taken for each other's. */
function sessionOf(
  { sessionName, type, absoluteTimeout, cookieConfig }: SessionPersistence,
  owner: string,
): RouteSession {
  const isPermanent = cookieConfig?.lifetimeType === "Permanent" && absoluteTimeout !== undefined;
  return {
    carrier: type === "Header" ? "header" : "cookie",
    name: sessionName ?? `x-session-${fnv1a(owner).toString(16)}`,
    ...(isPermanent && { lifetime: fromJson(DurationSchema, withSeconds(DurationSchema, absoluteTimeout)) }),
  };
}
