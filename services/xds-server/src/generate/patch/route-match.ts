/** Which route configurations, virtual hosts and routes the patch of an EnvoyFilter is for. */
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

export function matchesRoutes(patch: Patch, { name, context, serverPorts }: PatchedRoutes): boolean {
  const wanted = routesMatchOf(patch);
  if (wanted === undefined) return true;
  if (wanted.name !== "" && wanted.name !== name) return false;
  if (context !== Context.GATEWAY) return wanted.portNumber === 0 || wanted.portNumber === listenerPort(name);
  const { port, portName, gateway } = gatewayRoutesName(name);
  const ports = serverPorts.get(port) ?? [port];
  return (
    (wanted.portNumber === 0 || ports.includes(wanted.portNumber)) &&
    (wanted.portName === "" || wanted.portName === portName) &&
    (wanted.gateway === "" || wanted.gateway === gateway)
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

export function matchesHost(patch: Patch, host: VirtualHost): boolean {
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
