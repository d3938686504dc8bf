/** Plans a router's listeners, and the filter chains of each. */
import {
  type GatewayListener,
  type GatewayServer,
  hasPlainHttp,
  isHttpServer,
  routeConfigurationName,
} from "../../../snapshot/scope/gateway-merge.ts";
import { mergedGateways } from "../../../snapshot/scope/gateways.ts";
import { query, type View } from "../../../snapshot/view.ts";
import { listenerTraits } from "../../select/listener-traits.ts";
import { protocolOf, type RouterChain, type RouterHttpChain, type RouterListenerPlan, serverNames } from "./plan.ts";
import { tcpChains } from "./tcp-chains.ts";

/** Stands for a chain without server names, which matches all; no host has this name. */
const anyName = "";

/** By name; those without any filter chain are left out. */
export const routerListenerNames = query<readonly string[]>("router-listener-names", (view) =>
  [...view.read(listenersByName).keys()].filter((name) => view.read(routerListenerPlan, name) !== undefined),
);

interface NamedListener {
  readonly bind: string;
  readonly transport: RouterListenerPlan["transport"];
  readonly listener: GatewayListener;
}

const listenersByName = query<ReadonlyMap<string, NamedListener>>("router-listeners", (view) => {
  const named = new Map<string, NamedListener>();
  const isUnprivileged = view.proxy.metadataText("UNPRIVILEGED_POD") === "true";
  const { wildcardAddress } = view.read(listenerTraits);
  for (const listener of view.read(mergedGateways).listeners.values()) {
    const bind = listener.bind || wildcardAddress;
    // Without privileges a pod cannot listen on these.
    if (isUnprivileged && listener.port < 1024) continue;
    const { transport, port } = listener;
    named.set(`${transport === "udp" ? "udp_" : ""}${bind}_${port}`, { bind, transport, listener });
    if (listener.http3Servers.length > 0) named.set(`udp_${bind}_${port}`, { bind, transport: "quic", listener });
  }
  return named;
});

export const routerListenerPlan = query<RouterListenerPlan | undefined, string>(
  "router-listener-plan",
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
function chainsOf(view: View, { groups, port }: GatewayListener): readonly RouterChain[] {
  return groups.flatMap((servers): readonly RouterChain[] => {
    const [first] = servers;
    if (first !== undefined && hasPlainHttp(first.server)) {
      const routeName = routeConfigurationName(first, port);
      return [{ carries: "http", serverNames: [], tls: undefined, routeName, protocol: protocolOf(first) }];
    }
    return servers.flatMap<RouterChain>((server) =>
      isHttpServer(server.server) ? [httpsChain(server)] : tcpChains(view, server),
    );
  });
}

function httpsChain(server: GatewayServer): RouterHttpChain {
  return {
    carries: "http",
    serverNames: serverNames(server),
    tls: server.server.tls,
    routeName: routeConfigurationName(server, 0),
    protocol: protocolOf(server),
  };
}

/** Envoy refuses the listener where two chains have a server name in common; a name stays with the first. */
function distinct(chains: readonly RouterChain[]): readonly RouterChain[] {
  const seen = new Set<string>();
  return chains.flatMap((chain) => {
    const asked = chain.serverNames.length === 0 ? [anyName] : chain.serverNames;
    const free = asked.filter((name) => !seen.has(name));
    for (const name of free) seen.add(name);
    if (free.length === asked.length) return [chain];
    return free.length === 0 ? [] : [{ ...chain, serverNames: free }];
  });
}
