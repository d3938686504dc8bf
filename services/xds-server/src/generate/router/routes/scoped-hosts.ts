/**
 * The route configuration of a router that is sent host by host (SRDS), where it has more virtual hosts than GATEWAY_SCOPED_ROUTES_ABOVE:
 * Envoy builds a whole route configuration anew for each change in it (27 µs a virtual host), but only the scopes that changed.
 *
 * All scopes of a proxy are one set, so that one route configuration alone can have them. It has none where a host cannot be the key of a
 * scope, which is compared as a whole text (wildcards), nor where EnvoyFilters change it.
 */
import type { Branded } from "@flotilla/model";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { query, type View } from "../../../snapshot/view.ts";
import type { Target } from "../../encode/generator.ts";
import { routePatching } from "../../select/patching.ts";
import { parseRouterHost, type RouterHostText, routerHostPlan } from "./virtual-host-plan.ts";

/** The name of the route configuration, a host, and the text of its virtual host's plan: no resource depends on the whole plan. */
type ScopeText = Branded<"Scope">;

export interface ScopeTarget extends Target {
  readonly host: string;
  readonly routeName: string;
  readonly virtualHost: RouterHostText;
}

/** Undefined: every route configuration is sent whole. The largest of those that can be cut. */
export const scopedRouteName = query<string | undefined>("scoped-route-name", (view) => {
  let most = view.feature("scopedRoutesAbove");
  if (most === 0) return undefined;
  let found: string | undefined;
  for (const name of view.read(mergedGateways).routes.keys()) {
    const hosts = view.read(routerHostPlan, name);
    if (hosts.length <= most || hosts.some(isNoKey) || patching.changes(view, name) !== undefined) continue;
    [most, found] = [hosts.length, name];
  }
  return found;
});

const patching = routePatching("scoped router");

/** Wildcards, and IPv6 addresses, which hold the colon that ends the host. */
function isNoKey(text: RouterHostText): boolean {
  return /"[*[]/.test(text.slice(0, text.indexOf('"routes":')));
}

export const scopeTexts = query<readonly ScopeText[]>("scope-texts", (view) => {
  const routeName = view.read(scopedRouteName);
  if (routeName === undefined) return [];
  return view
    .read(routerHostPlan, routeName)
    .flatMap((text) =>
      parseRouterHost(text).domains.map((host) => `${routeName} ${host.toLowerCase()} ${text}` as ScopeText),
    );
});

export function scopeTarget(view: View, text: string): ScopeTarget {
  return view.read(targetOf, text);
}

const targetOf = query<ScopeTarget, string>("scope-target", (_, text) => {
  const [routeName = "", host = ""] = text.split(" ", 2);
  const virtualHost = text.slice(routeName.length + host.length + 2) as RouterHostText;
  return { name: `${routeName}/${host}`, host, routeName, virtualHost };
});
