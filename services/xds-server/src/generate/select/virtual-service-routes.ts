/**
 * The routes of a VirtualService for one port, encoded. They hardly depend on who calls, so most proxies share
 * them: labels and namespace are asked only where a match does, the scope only where a port has to be inferred.
 */
import { hasGatewaySemantics } from "@flotilla/gateway-api";
import { type TextOf, textCodec } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { type HostAndPort, hostAndPort, serviceText } from "../../snapshot/keys.ts";
import { servicesOfName } from "../../snapshot/scope/services.ts";
import { importedService } from "../../snapshot/scope/sidecar-scope.ts";
import { unknownDestinations } from "../../snapshot/scope/unknown-destinations.ts";
import { type VirtualServiceName, virtualService } from "../../snapshot/scope/virtual-service.ts";
import type { MatchHead, VirtualServiceHead } from "../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { sameBytes } from "../encode/encoded.ts";
import { encodedFields } from "../encode/message.ts";
import type { ActionContext } from "../envoy/routes/route-action.ts";
import { type RouteContext, virtualServiceRoutes } from "../envoy/routes/virtual-service-route.ts";
import { sessionConfig, sessionsAreKept } from "./persistent-session.ts";
import { consistentHashFor } from "./traffic-policy.ts";

/** Whose routes, for which port of a listener, and for which gateway: that of a router, or the one that means all sidecars. */
const routesText = textCodec<
  "RoutesKey",
  { readonly name: VirtualServiceName; readonly port: string; readonly gateway: string }
>("RoutesKey", "|", ["name", "port", "gateway"]);

/** The `routes` field of a virtual host; empty when no route concerns the proxy. */
export const encodedVirtualServiceRoutes = query<Uint8Array, TextOf<typeof routesText>>(
  "virtual-service-routes",
  (view, argument) => {
    const { name, port, gateway } = routesText.read(argument);
    const config = view.read(virtualService, name);
    if (config === undefined) return new Uint8Array();
    // For what it reports: the routes are the same.
    view.read(unknownDestinations, name);
    const routes = virtualServiceRoutes(config.key, config.spec, {
      listenPort: Number(port),
      hasGatewaySemantics: hasGatewaySemantics(config.annotations),
      concerns: (match) => matchConcernsProxy(view, match, gateway),
      serviceOf: (host) => destinationService(view, host, Number(port)),
      sessionOf: (host) => destinationSession(view, host, Number(port)),
      hashOf: (destination) => consistentHashFor(view, destination),
      marksMirrored: !view.feature("disableShadowHostSuffix"),
      defaultRetries: view.mesh.defaultHttpRetryPolicy,
    });
    return encodedFields(VirtualHostSchema, create(VirtualHostSchema, { routes: [...routes] }));
  },
  sameBytes,
);

/** @param gateway for which the routes are: that of a router, or the one that means all sidecars */
export function routesKey(name: VirtualServiceName, port: number, gateway: string): TextOf<typeof routesText> {
  return routesText.write({ name, port, gateway });
}

/** Whether a VirtualService has any route for the proxy on a port. Delegates decide about matches of their own. */
export function concernsProxy(view: View, head: VirtualServiceHead, port: number, gateway: string): boolean {
  if (head.hasDelegates) return view.read(encodedVirtualServiceRoutes, routesKey(head.name, port, gateway)).length > 0;
  return head.http.some(
    (matches) =>
      matches.length === 0 ||
      matches.some((match) => (match.port === 0 || match.port === port) && matchConcernsProxy(view, match, gateway)),
  );
}

/** As in istiod, a match that names gateways is judged by these alone: its source labels and namespace are not looked at. */
function matchConcernsProxy(view: View, match: MatchHead, gateway: string): boolean {
  if (match.gateways.length > 0) return match.gateways.includes(gateway);
  if (match.sourceNamespace !== "" && match.sourceNamespace !== view.proxy.namespace) return false;
  return Object.keys(match.sourceLabels).length === 0 || view.proxy.matches(match.sourceLabels);
}

/**
 * A port is inferred only where requests for any port arrive: elsewhere the destination has the listener's. Of services that are
 * in scope only because a VirtualService leads to them nothing more is known than their name.
 */
function destinationService(view: View, host: string, listenPort: number): ReturnType<ActionContext["serviceOf"]> {
  const concrete = view.read(concreteHost, hostAndPort.write({ hostname: host, port: listenPort }));
  const hostname = concrete !== host && importedService(view, host) === undefined ? host : concrete;
  if (listenPort !== 0) return { hostname, onlyPort: undefined };
  const [port, ...others] = importedService(view, host)?.ports ?? [];
  return { hostname, onlyPort: others.length === 0 ? port?.number : undefined };
}

function destinationSession(view: View, host: string, listenPort: number): ReturnType<RouteContext["sessionOf"]> {
  if (!sessionsAreKept(view)) return undefined;
  const service = importedService(view, host);
  const isOnPort = listenPort === 0 || service?.ports.some(({ number }) => number === listenPort);
  return service === undefined || isOnPort !== true ? undefined : sessionConfig(view, service.labels);
}

/** The service that an ExternalName stands for on the ports it has; any other host stands for itself. */
const concreteHost = query<string, HostAndPort>("concrete-host", (view, argument) => {
  const { hostname: host, port } = hostAndPort.read(argument);
  const services = view.servicesByHost(host).flatMap((name) => view.read(servicesOfName, serviceText.write(name)));
  const alias = services.find(({ resolution }) => resolution === "alias");
  const isOnPort = port === "0" || alias?.ports.some(({ number }) => number === Number(port));
  return (isOnPort ? alias?.kubernetes?.externalName : undefined) ?? host;
});
