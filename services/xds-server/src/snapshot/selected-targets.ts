/**
 * The ports of the Services of Kubernetes whose selectors match a proxy's labels: known before there is any endpoint, so that
 * a workload serves from its first moment. Source: istiod asked, a Service without EndpointSlices.
 */
import type { PodPort, Service } from "@flotilla/model";
import type { ServiceTarget } from "./subject.ts";
import type { View } from "./view.ts";

export interface DatedTarget extends ServiceTarget {
  readonly age: number;
  /** Of the port within its service. */
  readonly position: number;
}

/** Empty when no Service of the proxy's own cluster selects it. */
export function selectedTargets(view: View): readonly DatedTarget[] {
  const { namespace, clusterId, labels, podPorts } = view.proxy;
  const shard = `Kubernetes/${clusterId}`;
  const names = Object.entries(labels).flatMap(([name, value]) => view.selectorRow(namespace, name, value));
  return names.flatMap((serviceName) =>
    [...view.serviceShards(serviceName)]
      .filter(([text, { labelSelectors }]) => isOf(shard, text) && view.proxy.matches(labelSelectors ?? {}))
      .flatMap(([, service]) => targetsOf(service, podPorts)),
  );
}

function isOf(shard: string, text: string): boolean {
  return text.startsWith(`${shard}|`);
}

/** Of several ports of a service on one workload port, of one protocol, the first counts. */
function targetsOf(service: Service, podPorts: readonly PodPort[]): readonly DatedTarget[] {
  const { namespace, hostname, creationTimeMs: age, ports } = service;
  const taken = new Set<string>();
  return ports.flatMap(({ number, name: portName, protocol }, position) => {
    const targetPort = workloadPort(service.kubernetes?.targetPorts[number], number, protocol === "UDP", podPorts);
    const key = `${targetPort}/${protocol}`;
    if (targetPort === undefined || taken.has(key)) return [];
    taken.add(key);
    return [{ namespace, hostname, port: number, portName, targetPort, age, position }];
  });
}

/** A name means a port of the workload of that name and of the same transport. */
function workloadPort(
  target: string | undefined,
  number: number,
  isUdp: boolean,
  podPorts: readonly PodPort[],
): number | undefined {
  if (target === undefined) return number;
  if (/^\d+$/.test(target)) return Number(target);
  return podPorts.find(({ name, protocol }) => name === target && (protocol === "UDP") === isUdp)?.containerPort;
}
