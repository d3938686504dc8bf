/** The endpoints that a ServiceEntry brings itself, and those of the workloads it selects. */

import type { Config, Endpoint } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import type { ServiceEntryPort, ServiceEntrySpec, WorkloadEntrySpec } from "../kube.ts";
import type { EndpointContext } from "./endpoint-traits.ts";
import { entryAddress, entryWorkload, isUnixAddress, type SelectableWorkload } from "./workload-entry.ts";

/** Names resolved by the proxy: without endpoints of its own, the host itself is the endpoint. */
const byName: ReadonlySet<string> = new Set(["DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"]);

/** The endpoints that are written in a ServiceEntry, one for each of its ports. */
export function serviceEntryEndpoints(entry: Config, hostname: string, context: EndpointContext): readonly Endpoint[] {
  const spec = entry.spec as ServiceEntrySpec;
  const { name, namespace } = entry.key;
  const ports = spec.ports ?? [];
  const inline = spec.endpoints ?? [];
  if (inline.length === 0 && spec.workloadSelector === undefined && byName.has(spec.resolution ?? "NONE")) {
    const workload = entryWorkload({}, name, namespace, context);
    // The place and network of a name are unknown: labels that claim otherwise would make subsets match.
    const common = {
      ...workload,
      labels: {},
      network: "",
      addresses: [hostname],
      weight: 0,
      health: "unknown",
    } as const;
    return ports.map((port) => ({ ...common, ...endpointPort(port, undefined), definedBy: entryText(entry) }));
  }
  return inline.flatMap((endpoint, index) => {
    const workload = entryWorkload(endpoint, `${name}-${index}`, namespace, context);
    const common = {
      ...workload,
      addresses: [entryAddress(endpoint)],
      weight: endpoint.weight ?? 0,
      health: "unknown",
      definedBy: entryText(entry),
    } as const;
    return ports.map((port) => ({ ...common, ...endpointPort(port, endpoint) }));
  });
}

/** The endpoints that a selected workload gives a ServiceEntry. */
export function selectedByServiceEntry(
  { workload, addresses, weight, ports: own, isSocket, kind, definedBy }: SelectableWorkload,
  ports: readonly ServiceEntryPort[],
): readonly Endpoint[] {
  return ports.map((port) => ({
    ...workload,
    addresses,
    weight,
    servicePortName: port.name ?? "",
    servicePort: port.number,
    port:
      isSocket === true ? 0 : (positive(ownValue(own, port.name ?? "")) ?? positive(port.targetPort) ?? port.number),
    health: kind === "Pod" ? "healthy" : "unknown",
    definedBy,
  }));
}

/** First the endpoint's port of that name, then the entry's target port, then the port itself; sockets have none. */
function endpointPort(
  port: ServiceEntryPort,
  endpoint: WorkloadEntrySpec | undefined,
): Pick<Endpoint, "servicePortName" | "servicePort" | "port"> {
  const servicePortName = port.name ?? "";
  const servicePort = port.number;
  if (isUnixAddress(endpoint?.address ?? "")) return { servicePortName, servicePort, port: 0 };
  return {
    servicePortName,
    servicePort,
    port: positive(ownValue(endpoint?.ports, servicePortName)) ?? positive(port.targetPort) ?? port.number,
  };
}

function positive(port: number | undefined): number | undefined {
  return port !== undefined && port > 0 ? port : undefined;
}

function entryText({ key }: Config): string {
  return `ServiceEntry/${key.namespace}/${key.name}`;
}
