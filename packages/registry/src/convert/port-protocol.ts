/** Which application protocol a Kubernetes Service port carries. Source: Istio's protocol selection page. */
import { type Protocol, parseProtocol } from "@flotilla/model";

/** Values of appProtocol that Kubernetes itself defines. */
const standardProtocols: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);

/** SMTP, DNS, MySQL, MongoDB: their servers speak first, so a proxy that waits to sniff would stall them. */
const serverFirstPorts: ReadonlySet<number> = new Set([25, 53, 3306, 27017]);

export interface PortTraits {
  readonly port: number;
  readonly name?: string;
  /** The transport: TCP, UDP or SCTP. */
  readonly protocol?: string;
  readonly appProtocol?: string;
}

export function portProtocol({ port, name = "", protocol, appProtocol }: PortTraits): Protocol {
  if (protocol === "UDP") return "UDP";
  const standard = appProtocol === undefined ? undefined : standardProtocols.get(appProtocol);
  if (standard !== undefined) return standard;
  const text = appProtocol ?? name;
  if (/^grpc-web/i.test(text)) return "GRPC-Web";
  const [prefix = ""] = text.split("-", 1);
  const found = parseProtocol(prefix);
  return found === "Unsupported" && serverFirstPorts.has(port) ? "TCP" : found;
}
