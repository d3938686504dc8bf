/** Route patches on route configurations that stand inside of listeners: those of inbound traffic. */
import { parseClusterName } from "@flotilla/model";
import { pack, unpackAs } from "@flotilla/proto";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { Listener } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { RouteConfiguration } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { HttpConnectionManagerSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { Context, NoteOutcome, Patch } from "./patch.ts";
import { patchRouteConfiguration, routePatches } from "./routes.ts";

const noServers: ReadonlyMap<number, readonly number[]> = new Map();

/** The listener itself is changed. @param patches those to routes */
export function patchInlineRoutes(
  listener: Listener,
  patches: readonly Patch[],
  context: Context,
  note: NoteOutcome,
): void {
  // As in istiod, the routes of tunnels themselves are left as they are.
  if (patches.length === 0 || listener.name === "connect_terminate") return;
  const chains = [...listener.filterChains, ...(listener.defaultFilterChain ? [listener.defaultFilterChain] : [])];
  for (const filter of chains.flatMap(({ filters }) => filters)) patchFilter(filter, patches, context, note);
}

function patchFilter(filter: Filter, patches: readonly Patch[], context: Context, note: NoteOutcome): void {
  if (filter.configType.case !== "typedConfig") return;
  const manager = unpackAs(HttpConnectionManagerSchema, filter.configType.value);
  if (manager?.routeSpecifier.case !== "routeConfig") return;
  const routes = manager.routeSpecifier.value;
  if (isStated(routes)) return;
  const meant = routePatches(patches, { name: routes.name, context, serverPorts: noServers });
  if (meant.length === 0) return;
  manager.routeSpecifier.value = patchRouteConfiguration(routes, meant, note);
  filter.configType = { case: "typedConfig", value: pack(HttpConnectionManagerSchema, manager) };
}

/**
 * Routes of VirtualServices for a service behind a waypoint: as in istiod, patches change default routes only, which bound the size of
 * direct responses. Source: istiod asked.
 */
function isStated({ name, maxDirectResponseBodySizeBytes }: RouteConfiguration): boolean {
  return parseClusterName(name)?.direction === "inbound-vip" && maxDirectResponseBodySizeBytes === undefined;
}
