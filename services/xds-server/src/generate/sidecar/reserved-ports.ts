/** Ports on which a proxy cannot open a listener for its workload or the services that the workload calls. */
import { isHttp, type Protocol } from "@flotilla/model";
import { query, type View } from "../../snapshot/view.ts";
import { listenerTraits } from "../select/listener-traits.ts";

export interface ListenerPlace {
  /** As it is configured; undefined or empty: HTTP listens at any address, other protocols at that of their service. */
  readonly bind: string | undefined;
  readonly port: number;
  readonly protocol: Protocol;
  readonly bindToPort: boolean;
}

/** Metadata with ports that the proxy's agent and Envoy's own endpoints listen on, at any address. */
const agentPorts = [
  "ENVOY_STATUS_PORT",
  "ENVOY_PROMETHEUS_PORT",
  "ENVOY_SECURE_METRICS_PORT",
  "ENVOY_SECURE_MERGED_METRICS_PORT",
] as const;

const reservedPorts = query<ReadonlySet<number>>("reserved-ports", ({ proxy }) => {
  return new Set(agentPorts.map((name) => Number(proxy.metadataText(name))).filter((port) => port > 0));
});

/** Ports below 1024 need a privilege; those of the agent are taken. */
export function mayListen(view: View, place: ListenerPlace): boolean {
  const { port, bindToPort } = place;
  if (bindToPort && port > 0 && port < 1024 && view.proxy.metadataFlag("UNPRIVILEGED_POD")) return false;
  return !(listensAnywhere(view, place) && view.read(reservedPorts).has(port));
}

/** The same, on a proxy that has listeners for redirected connections of either direction beside. */
export function mayListenBesideVirtual(view: View, place: ListenerPlace): boolean {
  const { proxyListenPort, proxyInboundListenPort } = view.mesh;
  const isVirtual = place.port === proxyListenPort || place.port === proxyInboundListenPort;
  return mayListen(view, place) && !(isVirtual && listensAnywhere(view, place));
}

function listensAnywhere(view: View, { bind = "", protocol }: ListenerPlace): boolean {
  return bind === "" ? isHttp(protocol) : bind === view.read(listenerTraits).wildcardAddress;
}
