/** Ports of a Gateway's Service: one for each port that listeners listen on, and the proxy's health. */
import type { GatewayListener } from "./gateway.ts";

export interface ServicePort {
  readonly Name: string;
  readonly Port: number;
  readonly Protocol: "TCP" | "UDP";
  readonly AppProtocol: string;
}

/** Of names of ports in Kubernetes. */
const longestName = 63;

/** Of several listeners on a port and protocol the first names it. With `quic`, HTTPS is served on UDP too. Fields have the templates' names. */
export function servicePorts(listeners: readonly GatewayListener[], quic: boolean): readonly ServicePort[] {
  const used = new Set(["status-port"]);
  const ports: ServicePort[] = [{ Name: "status-port", Port: 15_021, Protocol: "TCP", AppProtocol: "tcp" }];
  const seen = new Set<string>();
  for (const [index, { name = "", port, protocol }] of listeners.entries()) {
    const transport = protocol === "UDP" ? "UDP" : "TCP";
    const place = `${port}/${transport}`;
    if (seen.has(place)) continue;
    seen.add(place);
    const appProtocol = protocol.toLowerCase();
    const wanted = name.replaceAll(".", "-").slice(0, longestName) || `${appProtocol}-${index}`;
    const own = uniqueName(wanted, port, used);
    ports.push({ Name: own, Port: port, Protocol: transport, AppProtocol: appProtocol });
    if (quic && appProtocol === "https")
      ports.push({
        ...{ Name: uniqueName(`${own}-quic`, port, used), Port: port },
        ...{ Protocol: "UDP", AppProtocol: appProtocol },
      });
  }
  return ports;
}

/** Names of listeners are longer than names of ports, and two may become one: a Service with a name twice is refused whole. */
function uniqueName(name: string, port: number, used: Set<string>): string {
  let unique = name.slice(0, longestName);
  for (let suffix = `-${port}`; used.has(unique); suffix += "x")
    unique = name.slice(0, longestName - suffix.length) + suffix;
  used.add(unique);
  return unique;
}
