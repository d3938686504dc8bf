/** ROUTE_CONFIGURATION, VIRTUAL_HOST and HTTP_ROUTE patches. */
import { clone } from "@bufbuild/protobuf";
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { changeList } from "./lists.ts";
import { isMerge, mergeValue } from "./merge.ts";
import { ApplyTo, isInContext, type NoteOutcome, Operation, type Patch, patchesTo } from "./patch.ts";
import { type HostNames, matchesHost, matchesRoutes, type PatchedRoutes, routeMatcher } from "./route-match.ts";

const kinds: ReadonlySet<ApplyTo> = new Set([ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE]);

export function isRoutePatch({ applyTo }: Patch): boolean {
  return kinds.has(applyTo);
}

/** The patches that may change a route configuration or something in it. */
export function routePatches(patches: readonly Patch[], routes: PatchedRoutes): readonly Patch[] {
  return patches.filter(
    (patch) => isRoutePatch(patch) && isInContext(patch, routes.context) && matchesRoutes(patch, routes),
  );
}

/** The fields of the route configuration itself; virtual hosts that a patch brings are appended to those it has. */
export function patchFrame(
  routes: RouteConfiguration,
  patches: readonly Patch[],
  note: NoteOutcome,
): RouteConfiguration {
  const merged = patchesTo(patches, ApplyTo.ROUTE_CONFIGURATION).filter(isMerge);
  for (const patch of merged) note(patch);
  return merged.reduce((patched, patch) => mergeValue(RouteConfigurationSchema, patched, patch), routes);
}

/** The patches that may change a virtual host of these names, or something in it. */
export function patchesOfHost(patches: readonly Patch[], host: HostNames): readonly Patch[] {
  const meant = patches.filter((patch) => matchesHost(patch, host));
  // Under its new names others may match it.
  return patchesTo(meant, ApplyTo.VIRTUAL_HOST).some(renames) ? patches : meant;
}

function renames({ operation, value }: Patch<VirtualHost>): boolean {
  return operation === Operation.REPLACE || (value !== undefined && (value.name !== "" || value.domains.length > 0));
}

/** Undefined when the virtual host is removed. */
export function patchHost(host: VirtualHost, patches: readonly Patch[], note: NoteOutcome): VirtualHost | undefined {
  let patched = host;
  for (const patch of patchesTo(patches, ApplyTo.VIRTUAL_HOST)) {
    if (!matchesHost(patch, patched)) continue;
    note(patch);
    if (patch.operation === Operation.REMOVE) return undefined;
    if (isMerge(patch)) patched = mergeValue(VirtualHostSchema, patched, patch);
    if (patch.operation === Operation.REPLACE && patch.value !== undefined)
      patched = clone(VirtualHostSchema, patch.value);
  }
  patchRoutes(patched, patches, note);
  return patched;
}

/** The virtual hosts that patches add. */
export function addedHosts(patches: readonly Patch[], note: NoteOutcome): readonly VirtualHost[] {
  return patchesTo(patches, ApplyTo.VIRTUAL_HOST).flatMap((patch) => {
    if (patch.operation !== Operation.ADD || patch.value === undefined) return [];
    note(patch);
    return [patch.value];
  });
}

/** Removals and merges of each route first, then whatever is added, in the order of the patches. */
function patchRoutes(host: VirtualHost, patches: readonly Patch[], note: NoteOutcome): void {
  const meant = patchesTo(patches, ApplyTo.HTTP_ROUTE).filter((patch) => matchesHost(patch, host));
  if (meant.length === 0) return;
  let routes: readonly Route[] = host.routes.flatMap((route) => patchRoute(route, meant, note) ?? []);
  for (const patch of meant) {
    const { operation, value } = patch;
    if (value === undefined || !additions.has(operation)) continue;
    const isMeant = routeMatcher(patch);
    // Unlike filters, a route is put first only where the match finds one. Source: istiod asked.
    if (operation === Operation.INSERT_FIRST && isMeant !== undefined && !routes.some(isMeant)) continue;
    const before = routes;
    routes = changeList(before, { operation, value: () => clone(RouteSchema, value), isMeant });
    if (routes !== before) note(patch);
  }
  host.routes = [...routes];
}

const additions: ReadonlySet<Operation> = new Set([
  Operation.ADD,
  Operation.INSERT_AFTER,
  Operation.INSERT_BEFORE,
  Operation.INSERT_FIRST,
]);

function patchRoute(route: Route, patches: readonly Patch<Route>[], note: NoteOutcome): Route | undefined {
  let patched = route;
  for (const patch of patches) {
    const isRemoval = patch.operation === Operation.REMOVE;
    if (!(isRemoval || isMerge(patch)) || routeMatcher(patch)?.(patched) === false) continue;
    note(patch);
    if (isRemoval) return undefined;
    patched = mergeValue(RouteSchema, patched, patch);
  }
  return patched;
}

/** A whole route configuration, as it stands inside of a listener. */
export function patchRouteConfiguration(
  routes: RouteConfiguration,
  patches: readonly Patch[],
  note: NoteOutcome,
): RouteConfiguration {
  const patched = patchFrame(routes, patches, note);
  patched.virtualHosts = [
    ...patched.virtualHosts.flatMap((host) => patchHost(host, patches, note) ?? []),
    ...addedHosts(patches, note).map((host) => clone(VirtualHostSchema, host)),
  ];
  return patched;
}
