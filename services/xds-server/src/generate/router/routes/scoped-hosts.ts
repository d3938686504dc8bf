/**
 * The route configuration of a router that is sent host by host (SRDS), where it has more virtual hosts than GATEWAY_SCOPED_ROUTES_ABOVE:
 * Envoy builds a whole route configuration anew for each change in it (27 µs a virtual host), but only the scopes that changed.
 *
 * All scopes of a proxy are one set, so that one route configuration alone can have them. It has none where a host cannot be the key of a
 * scope, which is compared as a whole text (wildcards), nor where EnvoyFilters change it.
 */
import { type TextOf, textCodec } from "@flotilla/model";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { query, type View } from "../../../snapshot/view.ts";
import type { Target } from "../../encode/generator.ts";
import { luaExtension } from "../../envoy/filters/lower-case-host.ts";
import { routePatching } from "../../select/patching.ts";
import { type RouterHostText, routerHost, routerHostPlan } from "./virtual-host-plan.ts";

/** The plan of one virtual host and not of all: a scope depends on nothing else. */
interface Scope {
  readonly routeName: string;
  readonly host: string;
  readonly virtualHost: RouterHostText;
}

const separator = " ";
const scopeText = textCodec<"Scope", Scope & Readonly<Record<string, string>>>("Scope", separator, [
  "routeName",
  "host",
  "virtualHost",
]);
type ScopeText = TextOf<typeof scopeText>;

export type ScopeTarget = Target & Scope;

const patching = routePatching("scoped router");

/** Undefined: every route configuration is sent whole. The largest of those that can be cut. */
export const scopedRouteName = query<string | undefined>("scoped-route-name", (view) => {
  let most = view.feature("scopedRoutesAbove");
  if (most === 0 || !view.proxy.supports(luaExtension)) return undefined;
  let found: string | undefined;
  for (const name of view.read(mergedGateways).routes.keys()) {
    const hosts = view.read(routerHostPlan, name);
    if (hosts.length <= most || !canBeScopes(hosts) || patching.changes(view, name) !== undefined) continue;
    [most, found] = [hosts.length, name];
  }
  return found;
});

/** A virtual host is sent once for each of its domains. */
const maxDomainsPerHost = 2;

/** Neither wildcards, nor IPv6 addresses, which hold the colon that ends the host; and not many times as many bytes as in one message. */
function canBeScopes(hosts: readonly RouterHostText[]): boolean {
  const domains = hosts.flatMap((text) => routerHost.read(text).domains);
  return domains.length <= hosts.length * maxDomainsPerHost && domains.every((domain) => !/^[*[]/.test(domain));
}

export const scopeTexts = query<readonly ScopeText[]>("scope-texts", (view) => {
  const routeName = view.read(scopedRouteName);
  if (routeName === undefined) return [];
  return view
    .read(routerHostPlan, routeName)
    .flatMap((virtualHost) =>
      routerHost
        .read(virtualHost)
        .domains.map((domain) => scopeText.write({ routeName, host: domain.toLowerCase(), virtualHost })),
    );
});

/** @param text of a scope, or its name, as operators ask for one; undefined where no scope has the name */
export function scopeTarget(view: View, text: string): ScopeTarget | undefined {
  const found = text.includes(separator) ? (text as ScopeText) : view.read(textsByName).get(text);
  return found && view.read(targetOf, found);
}

const textsByName = query<ReadonlyMap<string, ScopeText>>(
  "scope-texts-by-name",
  (view) => new Map(view.read(scopeTexts).map((text) => [nameOf(scopeText.read(text)), text])),
);

const targetOf = query<ScopeTarget, ScopeText>("scope-target", (_, text) => {
  const scope = scopeText.read(text);
  return { ...scope, name: nameOf(scope) };
});

function nameOf({ routeName, host }: Pick<Scope, "routeName" | "host">): string {
  return `${routeName}/${host}`;
}
