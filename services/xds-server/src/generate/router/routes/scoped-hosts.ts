/**
 * The route configuration of a router that is sent host by host (SRDS), where it has more virtual hosts than GATEWAY_SCOPED_ROUTES_ABOVE:
 * Envoy builds a whole route configuration anew for each change in it (27 µs a virtual host), but only the scopes that changed.
 *
 * All scopes of a proxy are one set, so that one route configuration alone can have them. It has none where a host cannot be the key of a
 * scope, which is compared as a whole text (wildcards), nor where EnvoyFilters change it.
 */
import { type TextOf, textCodec } from "@flotilla/model";
import { type SliceText, sliceKeys, sliceTexts } from "../../../snapshot/row-index.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { query, type View } from "../../../snapshot/view.ts";
import type { Target } from "../../encode/generator.ts";
import { luaExtension } from "../../envoy/filters/lower-case-host.ts";
import { routePatching } from "../../select/patching.ts";
import { partsOfRoutes, type RoutesPart, routesPart } from "./shared-hosts.ts";
import {
  hostsAcrossParts,
  hostsWithinPart,
  type RouterHostText,
  routerHost,
  routerHostPlan,
} from "./virtual-host-plan.ts";

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
    const extent = view.read(extentOfRoutes, name);
    if (extent.hosts <= most || !canBeScopes(extent) || patching.changes(view, name) !== undefined) continue;
    [most, found] = [extent.hosts, name];
  }
  return found;
});

interface HostsExtent {
  readonly hosts: number;
  readonly domains: number;
  /** Neither wildcards, nor IPv6 addresses, which hold the colon that ends the host. */
  readonly areKeys: boolean;
}

/** A virtual host is sent once for each of its domains. */
const maxDomainsPerHost = 2;

/** Not many times as many bytes as in one message. */
function canBeScopes({ hosts, domains, areKeys }: HostsExtent): boolean {
  return areKeys && domains <= hosts * maxDomainsPerHost;
}

const extentOfRoutes = query<HostsExtent, string>("extent-of-routes", (view, routeName) => {
  const parts = view.read(partsOfRoutes, routeName).map((part) => view.read(extentOfPart, part));
  return [...parts, extentOf(view.read(hostsAcrossParts, routeName))].reduce((sum, one) => ({
    hosts: sum.hosts + one.hosts,
    domains: sum.domains + one.domains,
    areKeys: sum.areKeys && one.areKeys,
  }));
});

const extentOfPart = query<HostsExtent, RoutesPart>("extent-of-part", (view, part) =>
  extentOf(view.read(hostsWithinPart, part)),
);

function extentOf(hosts: readonly RouterHostText[]): HostsExtent {
  const domains = hosts.flatMap((text) => routerHost.read(text).domains);
  const areKeys = domains.every((domain) => !/^[*[]/.test(domain));
  return { hosts: hosts.length, domains: domains.length, areKeys };
}

/** In slices that stay while hosts of other parts come and go. */
export const scopeSlices = query<readonly SliceText<ScopeText>[]>("scope-slices", (view) => {
  const routeName = view.read(scopedRouteName);
  if (routeName === undefined) return [];
  const parts = view.read(partsOfRoutes, routeName);
  if (parts.length === 1) return slicesOf(routeName, view.read(routerHostPlan, routeName));
  const across = slicesOf(routeName, view.read(hostsAcrossParts, routeName));
  return [...parts.flatMap((part) => view.read(slicesOfPart, part)), ...across];
});

const slicesOfPart = query<readonly SliceText<ScopeText>[], RoutesPart>("scope-slices-of-part", (view, part) =>
  slicesOf(routesPart.read(part).routeName, view.read(hostsWithinPart, part)),
);

function slicesOf(routeName: string, hosts: readonly RouterHostText[]): readonly SliceText<ScopeText>[] {
  const texts = hosts.flatMap((virtualHost) =>
    routerHost
      .read(virtualHost)
      .domains.map((domain) => scopeText.write({ routeName, host: domain.toLowerCase(), virtualHost })),
  );
  return sliceTexts(texts);
}

/** @param text of a scope, or its name, as operators ask for one; undefined where no scope has the name */
export function scopeTarget(view: View, text: string): ScopeTarget | undefined {
  const found = text.includes(separator) ? (text as ScopeText) : view.read(textsByName).get(text);
  return found && view.read(targetOf, found);
}

const textsByName = query<ReadonlyMap<string, ScopeText>>(
  "scope-texts-by-name",
  (view) =>
    new Map(
      view
        .read(scopeSlices)
        .flatMap(sliceKeys)
        .map((text) => [nameOf(scopeText.read(text)), text]),
    ),
);

const targetOf = query<ScopeTarget, ScopeText>("scope-target", (_, text) => {
  const scope = scopeText.read(text);
  return { ...scope, name: nameOf(scope) };
});

function nameOf({ routeName, host }: Pick<Scope, "routeName" | "host">): string {
  return `${routeName}/${host}`;
}
