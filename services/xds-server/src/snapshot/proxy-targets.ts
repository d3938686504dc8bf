/**
 * The registries' facts about a proxy, and the service ports it stands for, the oldest service's first and each in the order
 * of its ports: of several on one workload port the first counts. Services of Kubernetes are found by their selectors; those of
 * WorkloadEntries, Services without selectors and all other registries by the endpoints at the proxy's addresses. Observed per proxy
 * outside of any view, because the answer is part of the facts that a view reads of its proxy (proxy-answers.ts).
 */
import { compareText, matchesLabels, type PodPort, type Service } from "@flotilla/model";
import { proxyLabels, proxyLocality } from "./proxy-registration.ts";
import type { ServiceTarget, Subject } from "./subject.ts";
import { query, type View } from "./view.ts";

export const proxyTargets = query<readonly ServiceTarget[]>(
  "proxy-targets",
  (view) => {
    const found = endpointTargets(view);
    // A machine has the Services that select its WorkloadEntry; where they may not select any, those that select what it reports.
    const isKnownMachine = found.some(({ isMachine }) => isMachine) && view.feature("servicesSelectWorkloadEntries");
    const selected = isKnownMachine ? [] : selectedTargets(view);
    const targets =
      selected.length === 0 ? found : [...selected, ...found.filter(({ shard }) => !shard.startsWith("Kubernetes/"))];
    // Of equal ones the first stays: a Service comes before ServiceEntries of its host.
    const distinct = new Map(
      targets.toReversed().map((target) => [`${target.hostname}|${target.port}|${target.targetPort}`, target]),
    );
    return [...distinct.values()]
      .sort(
        (a, b) =>
          a.age - b.age ||
          compareText(a.hostname, b.hostname) ||
          a.position - b.position ||
          a.targetPort - b.targetPort,
      )
      .map(({ namespace, hostname, port, portName, targetPort }) => {
        return { namespace, hostname, port, portName, targetPort };
      });
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** The registries' facts about a proxy. */
export const proxyStanding = query<Pick<Subject, "targets" | "locality" | "labels">>("proxy-standing", (view) => {
  const locality = view.read(proxyLocality);
  return { targets: view.read(proxyTargets), labels: view.read(proxyLabels), ...(locality && { locality }) };
});

interface EndpointTarget extends DatedTarget {
  readonly shard: string;
  /** A WorkloadEntry describes the workload. */
  readonly isMachine: boolean;
}

function endpointTargets(view: View): readonly EndpointTarget[] {
  const targets: EndpointTarget[] = [];
  const { namespace } = view.proxy;
  for (const address of view.proxy.addresses) {
    for (const use of view.address(address)) {
      if (use.namespace !== namespace) continue;
      // A ServiceEntry may have the host of a Service: endpoints belong to their own registry's version of it.
      const all = [...view.serviceShards(use)];
      const own = all.filter(([text]) => text.startsWith(`${use.shard}|`));
      const services = (own.length > 0 ? own : all.slice(0, 1)).map(([, one]) => one);
      for (const { servicePortName, addresses, port: targetPort, definedBy } of view.endpoints(use).get(use.shard) ??
        []) {
        const service = services.find(({ ports }) => ports.some(({ name }) => name === servicePortName));
        const port = service?.ports.find(({ name }) => name === servicePortName);
        if (port === undefined || !addresses.includes(address)) continue;
        const place = { age: service?.creationTimeMs ?? 0, position: service?.ports.indexOf(port) ?? 0 };
        const isMachine = definedBy?.startsWith("WorkloadEntry/") ?? false;
        const { hostname, shard } = use;
        targets.push({
          namespace,
          hostname,
          port: port.number,
          portName: port.name,
          targetPort,
          ...place,
          shard,
          isMachine,
        });
      }
    }
  }
  return targets;
}

/**
 * The ports of the Services of Kubernetes whose selectors match a proxy's labels: known before there is any endpoint, so that
 * a workload serves from its first moment. Source: istiod asked, a Service without EndpointSlices.
 */
export interface DatedTarget extends ServiceTarget {
  readonly age: number;
  /** Of the port within its service. */
  readonly position: number;
}

/** Empty when no Service of the proxy's own cluster selects it. */
function selectedTargets(view: View): readonly DatedTarget[] {
  const { namespace, clusterId, podPorts } = view.proxy;
  const labels = view.read(proxyLabels);
  const shard = `Kubernetes/${clusterId}`;
  const names = Object.entries(labels).flatMap(([name, value]) => view.selectorRow(namespace, name, value));
  return names.flatMap((serviceName) =>
    [...view.serviceShards(serviceName)]
      .filter(([text, { labelSelectors }]) => isOf(shard, text) && matchesLabels(labelSelectors ?? {}, labels))
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
