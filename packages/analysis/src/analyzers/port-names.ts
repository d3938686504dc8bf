/** Names of Services' ports that declare no protocol. */
import { isUnsupported, type Protocol, parseProtocol } from "@flotilla/model";
import { type Field, field, isSet, items, numberOf, textOf } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { isControlPlane } from "../shared/workloads.ts";

const managedGateways: ReadonlySet<string> = new Set([
  "istio.io-eastwest-controller",
  "istio.io-gateway-controller",
  "istio.io-mesh-controller",
]);

/** The counterpart of istioctl's service.PortNameAnalyzer. */
export const portNames: Analyzer = {
  name: "port-names",
  summary: "ports whose protocol has to be found out",
  messages: ["PortNameWithoutProtocol", "ExternalNamePortName"],
  checks: ["Service"],
  reads: [],
  check: (service) => {
    const { labels, spec } = service;
    if (isControlPlane(service) || managedGateways.has(labels["gateway.istio.io/managed"] ?? "")) return [];
    const isExternal = textOf(field(spec, "type")) === "ExternalName";
    return items(spec, "ports")
      .filter((port) => isUnsupported(portProtocol(port)) || (isExternal && textOf(field(port, "name")) === "tcp"))
      .map((port) => {
        const name = textOf(field(port, "name"));
        return isExternal
          ? finding("ExternalNamePortName", service, port, {})
          : finding("PortNameWithoutProtocol", service, port, {
              name: name === "" ? "none" : name,
              port: numberOf(field(port, "port")),
            });
      });
  },
};

/** Servers speak first on these: waiting for the client to show its protocol would not end. */
const tcpPorts: ReadonlySet<number> = new Set([25, 3306, 27017]);

const applicationProtocols: ReadonlyMap<string, Protocol> = new Map([
  ["kubernetes.io/h2c", "HTTP2"],
  ["kubernetes.io/ws", "HTTP"],
  ["kubernetes.io/wss", "HTTPS"],
]);

function portProtocol(port: Field): Protocol {
  if (textOf(field(port, "protocol")) === "UDP") return "UDP";
  const application = field(port, "appProtocol");
  const name = textOf(isSet(application) ? application : field(port, "name"));
  const known = isSet(application) ? applicationProtocols.get(name) : undefined;
  if (known !== undefined) return known;
  if (name.toLowerCase().startsWith("grpc-web")) return "GRPC-Web";
  const parsed = parseProtocol(name.split("-", 1)[0] ?? "");
  return isUnsupported(parsed) && tcpPorts.has(numberOf(field(port, "port"))) ? "TCP" : parsed;
}
