/**
 * Hosts for which a TLS listener of the Gateway API gets requests that belong to another listener of its port: clients send them over a
 * connection that they opened for a host of this one, since a certificate is for both (RFC 9110, 15.5.20). Source: the Gateway API's
 * suite (HTTPRouteHTTPSListenerDetectMisdirectedRequests); istiod answers as for any other host.
 */
import { query, type View } from "../view.ts";
import { type GatewayServer, isTlsServer, plainHost } from "./gateway-merge.ts";
import { mergedGateways } from "./gateways.ts";
import { listenerGateways } from "./kubernetes-gateways.ts";

const none: readonly string[] = [];

/** By the name of a route configuration: the hosts of the other listeners, sorted. Envoy picks the most specific host. */
export const misdirectedHosts = query<readonly string[], string>(
  "misdirected-hosts",
  (view, routeName) => {
    if (!view.feature("detectsMisdirectedRequests") || !routeName.startsWith("https.")) return none;
    const { listeners, routes } = view.read(mergedGateways);
    const own = routes.get(routeName) ?? [];
    const [first] = own;
    if (first === undefined || !isOfListener(view, first)) return none;
    const others = [...listeners.values()]
      .filter(({ servers }) => servers.includes(first))
      .flatMap(({ servers }) => servers)
      .filter((server) => !own.includes(server) && isTlsServer(server.server) && isOfListener(view, server));
    const ownHosts = new Set(hostsOf(own));
    return [...new Set(hostsOf(others))].filter((host) => !ownHosts.has(host)).sort();
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function hostsOf(servers: readonly GatewayServer[]): readonly string[] {
  return servers.flatMap(({ hosts }) => hosts.map(plainHost));
}

/** Other Gateways are the user's own, whose hosts may overlap as they like. */
function isOfListener(view: View, { gateway }: GatewayServer): boolean {
  return view.read(listenerGateways).has(gateway);
}
