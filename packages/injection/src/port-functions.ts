/** Functions of injection templates for the ports and networks of a pod. Users' templates call them: their names are Istio's. */
import { formatValue, isNothing, type TemplateFunctions } from "@flotilla/gotemplate";
import { isObject } from "@flotilla/model";
import { rawOf } from "./go-view.ts";
import { type Container, proxyName } from "./pod.ts";

const asText = (value: unknown): string => (isNothing(value) ? "" : String(value));

export const portFunctions: TemplateFunctions = {
  excludeInboundPort,
  includeInboundPorts: (containers) => containerPorts(containersOf(containers)),
  applicationPorts: (containers) => containerPorts(containersOf(containers).filter(({ name }) => name !== proxyName)),
  kubevirtInterfaces: asText,
  excludeInterfaces: asText,
  appendMultusNetwork: (existing, network) => appendMultusNetwork(asText(existing), asText(network)),
};

function containersOf(value: unknown): readonly Container[] {
  return (rawOf(value) ?? []) as readonly Container[];
}

/** Capture is for TCP. */
function containerPorts(containers: readonly Container[]): string {
  const ports = containers.flatMap(({ ports: own = [] }) => own);
  return ports
    .filter(({ protocol }) => protocol !== "UDP" && protocol !== "SCTP")
    .map(({ containerPort }) => containerPort)
    .join(",");
}

/** The port of the proxy's own health page is never captured, whatever else is left out. */
function excludeInboundPort(port: unknown, excluded: unknown): string {
  const own = formatValue(port).trim();
  const given = asText(excluded);
  if (own === "" || own === "0") return given;
  const parts = given.split(",");
  if (parts.includes(own)) return given;
  const ports = parts.map((part) => part.trim()).filter((part) => part !== "");
  return [...ports, own].join(",");
}

/** The networks a pod joins are a list of names, or of objects in JSON; both get one more. */
function appendMultusNetwork(existing: string, network: string): string {
  if (existing === "") return network;
  const end = existing.lastIndexOf("]");
  if (end === -1) {
    const isThere = existing.split(",").some((part) => part.trim() === network);
    return isThere ? existing : `${existing}, ${network}`;
  }
  const networks = parseNetworks(existing);
  // A text that is no list cannot be extended: its readers refuse it.
  if (networks === undefined) return existing;
  const slash = network.indexOf("/");
  const [namespace, name] = [network.slice(0, Math.max(slash, 0)), network.slice(slash + 1)];
  if (networks.some((one) => one["name"] === name && (one["namespace"] ?? "") === namespace)) return existing;
  const entry = `{"name": "${name}"${namespace === "" ? "" : `, "namespace": "${namespace}"`}}`;
  return `${existing.slice(0, end)}, ${entry}${existing.slice(end)}`;
}

function parseNetworks(text: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isObject) ? value : undefined;
  } catch {
    return undefined;
  }
}
