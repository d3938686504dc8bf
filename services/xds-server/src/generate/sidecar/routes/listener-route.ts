/** What the name of a sidecar's route configuration says, and which egress listener it belongs to. */
import { parseProtocol } from "@flotilla/model";
import { type EgressListener, proxyEgressListeners } from "../../../snapshot/scope/sidecar.ts";
import type { View } from "../../../snapshot/view.ts";

export interface ListenerRoute {
  /** 0 for listeners that take requests for any port. */
  readonly port: number;
  /**
   * The route is of one service, which has a listener of its own: its protocol is found out by sniffing, or it is known by its
   * address. The name is that of the virtual host.
   */
  readonly isOfOneService: boolean;
}

/** Undefined for names that no listener of a sidecar uses. */
export function parseRouteName(name: string): ListenerRoute | undefined {
  if (name === "http_proxy" || name.startsWith("unix://")) return { port: 0, isOfOneService: false };
  if (/^\d+$/.test(name)) return { port: Number(name), isOfOneService: false };
  const sniffed = /^[^|]+:(\d+)$/.exec(name);
  return sniffed === null ? undefined : { port: Number(sniffed[1]), isOfOneService: true };
}

/** The listener of that port or socket, else the catch-all; listeners behind a catch-all are never reached. */
export function egressListenerFor(view: View, name: string, port: number): EgressListener | undefined {
  return proxyEgressListeners(view).find(({ spec }) => {
    if (spec.port === undefined) return true;
    return spec.port.number === port && (port !== 0 || spec.bind === name);
  });
}

/** The port whose hosts a listener's routes are for; 0 for all of them, as a forward proxy's are. */
export function routedPort({ spec }: EgressListener, { port }: ListenerRoute): number {
  return spec.port !== undefined && parseProtocol(spec.port.protocol) === "HTTP_PROXY" ? 0 : port;
}
