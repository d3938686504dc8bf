/** Selects the route configurations, virtual hosts and routes that the patch of an EnvoyFilter is for. */
import type { Route, VirtualHost } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import {
  EnvoyFilter_RouteConfigurationMatch_RouteMatch_Action as Action,
  type EnvoyFilter_RouteConfigurationMatch as RouteConfigurationMatch,
} from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { Context, type Patch } from "./patch.ts";

export interface PatchedRoutes {
  readonly name: string;
  readonly context: Context;
  /** Of gateways: the ports of servers by the workload's port. */
  readonly serverPorts: ReadonlyMap<number, readonly number[]>;
}

function routesMatchOf({ match }: Patch): RouteConfigurationMatch | undefined {
  return match?.objectTypes.case === "routeConfiguration" ? match.objectTypes.value : undefined;
}

/** The ports that a patch may mean them by. */
export function portsOfRoutes({ name, context, serverPorts }: PatchedRoutes): readonly number[] {
  if (context !== Context.GATEWAY) return [listenerPort(name)];
  const { port } = gatewayRoutesName(name);
  return serverPorts.get(port) ?? [port];
}

export function matchesRoutes(patch: Patch, routes: PatchedRoutes): boolean {
  const wanted = routesMatchOf(patch);
  if (wanted === undefined) return true;
  if (wanted.name !== "" && wanted.name !== routes.name) return false;
  if (wanted.portNumber !== 0 && !portsOfRoutes(routes).includes(wanted.portNumber)) return false;
  if (routes.context !== Context.GATEWAY) return true;
  const { portName, gateway } = gatewayRoutesName(routes.name);
  return (
    (wanted.portName === "" || wanted.portName === portName) && (wanted.gateway === "" || wanted.gateway === gateway)
  );
}

/** Zero for those of one service, which are named after its host. */
function listenerPort(name: string): number {
  const text = name.startsWith("inbound|") ? (name.split("|")[1] ?? "") : name;
  return /^\d+$/.test(text) ? Number(text) : 0;
}

/** `http.PORT…` of all plain servers of a port, `https.PORT.NAME.GATEWAY.NAMESPACE` of one server. */
function gatewayRoutesName(name: string): {
  readonly port: number;
  readonly portName: string;
  readonly gateway: string;
} {
  const parts = name.split(".");
  const [scheme, number = "", portName = "", gateway = "", namespace = ""] = parts;
  const port = /^\d+$/.test(number) ? Number(number) : 0;
  if (scheme === "https" && parts.length === 5) return { port, portName, gateway: `${namespace}/${gateway}` };
  return { port: scheme === "http" ? port : 0, portName: "", gateway: "" };
}

export type HostNames = Pick<VirtualHost, "name" | "domains">;

export function matchesHost(patch: Patch, host: HostNames): boolean {
  const wanted = routesMatchOf(patch)?.vhost;
  if (wanted === undefined) return true;
  return (
    (wanted.name === "" || wanted.name === host.name) &&
    (wanted.domainName === "" || host.domains.includes(wanted.domainName))
  );
}

/** Undefined where the patch names no route. */
export function routeMatcher(patch: Patch): ((route: Route) => boolean) | undefined {
  if (patch.match?.objectTypes.case === "waypoint") {
    const { route } = patch.match.objectTypes.value;
    return route && (({ name }) => route.name === "" || route.name === name);
  }
  const wanted = routesMatchOf(patch)?.vhost?.route;
  if (wanted === undefined) return undefined;
  return ({ name, action }) =>
    (wanted.name === "" || wanted.name === name) &&
    (wanted.action === Action.ANY || action.case === actions[wanted.action]);
}

const actions: Readonly<Record<Exclude<Action, Action.ANY>, Route["action"]["case"]>> = {
  [Action.ROUTE]: "route",
  [Action.REDIRECT]: "redirect",
  [Action.DIRECT_RESPONSE]: "directResponse",
};
