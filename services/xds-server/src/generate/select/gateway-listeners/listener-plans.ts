/**
 * Plans the listeners that Gateways have servers on, and the filter chains of each. East-west gateways have connections only: HTTP is for
 * routers, and for what waypoints end.
 */
import {
  type GatewayListener,
  type GatewayServer,
  hasPlainHttp,
  isHttpServer,
  routeConfigurationName,
} from "../../../snapshot/scope/gateway-merge.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { listenerTraits } from "../listener-traits.ts";
import { type GatewayChain, type GatewayHttpChain, type GatewayListenerPlan, protocolOf, serverNames } from "./plan.ts";
import { tcpChains } from "./tcp-chains.ts";

/** Stands for a chain without server names, which matches all; no host has this name. */
const anyName = "";

/** By name; those without any filter chain are left out. */
export const gatewayListenerNames = query<readonly string[]>("gateway-listener-names", (view) =>
  [...view.read(listenersByName).keys()].filter((name) => view.read(gatewayListenerPlan, name) !== undefined),
);

interface NamedListener {
  readonly bind: string;
  readonly transport: GatewayListenerPlan["transport"];
  readonly listener: GatewayListener;
}

const listenersByName = query<ReadonlyMap<string, NamedListener>>("gateway-listeners", (view) => {
  const named = new Map<string, NamedListener>();
  const isUnprivileged = view.proxy.metadataText("UNPRIVILEGED_POD") === "true";
  const { wildcardAddress } = view.read(listenerTraits);
  for (const listener of view.read(mergedGateways).listeners.values()) {
    const bind = listener.bind || wildcardAddress;
    // Without privileges a pod cannot listen on these.
    if (isUnprivileged && listener.port < 1024) continue;
    const { transport, port } = listener;
    named.set(`${transport === "udp" ? "udp_" : ""}${bind}_${port}`, { bind, transport, listener });
    if (listener.http3Servers.length > 0 && servesHttp(view))
      named.set(`udp_${bind}_${port}`, { bind, transport: "quic", listener });
  }
  return named;
});

export const gatewayListenerPlan = query<GatewayListenerPlan | undefined, string>(
  "gateway-listener-plan",
  (view, name) => {
    const found = view.read(listenersByName).get(name);
    if (found === undefined) return undefined;
    const { bind, transport, listener } = found;
    const chains = distinct(transport === "quic" ? listener.http3Servers.map(httpsChain) : chainsOf(view, listener));
    if (chains.length === 0) return undefined;
    const extraAddresses = listener.bind === "" ? view.read(listenerTraits).extraAddresses : [];
    return { name, transport, bind, extraAddresses, port: listener.port, chains };
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Plain HTTP servers share a chain; each other server has its own. */
function chainsOf(view: View, { groups, port }: GatewayListener): readonly GatewayChain[] {
  return groups.flatMap((servers): readonly GatewayChain[] => {
    const [first] = servers;
    if (first !== undefined && hasPlainHttp(first.server)) {
      if (!servesHttp(view)) return [];
      const routeName = routeConfigurationName(first, port);
      return [
        { carries: "http", serverNames: [], tls: undefined, routeName, statName: "", protocol: protocolOf(first) },
      ];
    }
    return servers.flatMap<GatewayChain>((server) => {
      if (!isHttpServer(server.server)) return tcpChains(view, server);
      return servesHttp(view) ? [httpsChain(server)] : [];
    });
  });
}

function servesHttp(view: View): boolean {
  return view.proxy.type === "router";
}

function httpsChain(server: GatewayServer): GatewayHttpChain {
  return {
    carries: "http",
    serverNames: serverNames(server),
    tls: server.server.tls,
    routeName: routeConfigurationName(server, 0),
    statName: server.server.name,
    protocol: protocolOf(server),
  };
}

/** Envoy refuses the listener where two chains have a server name in common; a name stays with the first. */
function distinct(chains: readonly GatewayChain[]): readonly GatewayChain[] {
  const seen = new Set<string>();
  return chains.flatMap((chain) => {
    const asked = chain.serverNames.length === 0 ? [anyName] : chain.serverNames;
    const free = asked.filter((name) => !seen.has(name));
    for (const name of free) seen.add(name);
    if (free.length === asked.length) return [chain];
    return free.length === 0 ? [] : [{ ...chain, serverNames: free }];
  });
}
