/**
 * Facts of services that the status of Gateways needs: ports, addresses, and the ports that have an endpoint. From the bus, all clusters as
 * one.
 */
import { type Bus, filters, lastChanges, subscribe } from "@flotilla/bus";
import { isPoolService } from "@flotilla/gateway-api";
import {
  type Change,
  type EndpointsChange,
  type Labels,
  ownValue,
  type Service,
  type ServiceChange,
} from "@flotilla/model";

export interface ServiceFacts {
  readonly ports: readonly { readonly name: string; readonly number: number }[];
  readonly externalAddresses: readonly string[];
  readonly isLoadBalancer: boolean;
  /** Of a Service in front of an InferencePool; else none. */
  readonly poolLabels: Labels;
  /** Ports of endpoints, by the name of the service's port. */
  readonly targets: Readonly<Record<string, readonly number[]>>;
}

type Targets = Readonly<Record<string, readonly number[]>>;

interface Known {
  readonly services: Map<string, Service>;
  readonly targets: Map<string, Targets>;
}

export class ServiceTable {
  readonly #byHost = new Map<string, Known>();

  /** The host name whose facts may be different; undefined for changes of something else. */
  note(change: Change): string | undefined {
    if (change.type === "service") return this.#noteService(change);
    return change.type === "endpoints" ? this.#noteEndpoints(change) : undefined;
  }

  /** Undefined where there is no such service. */
  factsOf(hostname: string): ServiceFacts | undefined {
    const known = this.#byHost.get(hostname);
    if (known === undefined || known.services.size === 0) return undefined;
    const services = [...known.services.values()];
    const ports = new Map(
      services.flatMap((service) => service.ports.map(({ name, number }) => [name, number] as const)),
    );
    const external = services.flatMap((service) => Object.values(service.clusterExternalAddresses ?? {}).flat());
    return {
      ports: [...ports].map(([name, number]) => ({ name, number })),
      externalAddresses: [...new Set(external)].sort(),
      isLoadBalancer: services.some(({ kubernetes }) => kubernetes?.type === "LoadBalancer"),
      poolLabels: services.find(({ labels }) => isPoolService(labels))?.labels ?? {},
      targets: joined([...known.targets.values()]),
    };
  }

  #noteService(change: ServiceChange): string {
    const { shard, hostname, namespace, name } = change.key;
    const { services } = this.#known(hostname);
    const source = `${shard}|${namespace}|${name}`;
    if (change.op === "put") services.set(source, change.value);
    else services.delete(source);
    return this.#dropped(hostname);
  }

  #noteEndpoints(change: EndpointsChange): string {
    const { shard, hostname, namespace } = change.key;
    const { targets } = this.#known(hostname);
    const source = `${shard}|${namespace}`;
    if (change.op !== "put" || change.value.length === 0) targets.delete(source);
    else {
      const named = Object.groupBy(change.value, ({ servicePortName }) => servicePortName);
      const numbers = Object.entries(named).map(([name, of = []]) => [name, of.map(({ port }) => port)] as const);
      targets.set(source, joined(numbers.map(([name, ports]) => ({ [name]: ports }))));
    }
    return this.#dropped(hostname);
  }

  #known(hostname: string): Known {
    const known = this.#byHost.get(hostname) ?? { services: new Map(), targets: new Map() };
    this.#byHost.set(hostname, known);
    return known;
  }

  #dropped(hostname: string): string {
    const known = this.#byHost.get(hostname);
    if (known?.services.size === 0 && known.targets.size === 0) this.#byHost.delete(hostname);
    return hostname;
  }
}

/** Numbers by name, each once and in order. */
function joined(all: readonly Targets[]): Targets {
  const names = [...new Set(all.flatMap((one) => Object.keys(one)))].sort();
  return Object.fromEntries(
    names.map((name) => {
      const numbers = all.flatMap((one) => ownValue(one, name) ?? []);
      return [name, [...new Set(numbers)].sort((a, b) => a - b)];
    }),
  );
}

/** Follows services and endpoints until `stop` fires; `onChanged` gets the hosts that may be different, first those of all there are. */
export async function followServices(
  bus: Bus,
  table: ServiceTable,
  onChanged: (hosts: ReadonlySet<string>) => void,
  stop: AbortSignal,
): Promise<void> {
  const known = await Promise.all([filters.services, filters.endpoints].map((filter) => readAll(bus, filter, table)));
  onChanged(new Set(known.flatMap(({ hosts }) => [...hosts])));
  await Promise.all(known.map(({ filter, from }) => followOne({ bus, filter, table, onChanged }, from, stop)));
}

interface Position {
  readonly afterSequence: number;
  readonly epoch: string;
  readonly mark: string | undefined;
}

async function readAll(bus: Bus, filter: string, table: ServiceTable) {
  const { epoch } = bus;
  const hosts = new Set<string>();
  let afterSequence = 0;
  let mark: string | undefined;
  for await (const { change, sequence, mark: markHere } of lastChanges({ bus, filter, seal: undefined })) {
    [afterSequence, mark] = [sequence, markHere];
    const host = table.note(change);
    if (host !== undefined) hosts.add(host);
  }
  return { filter, hosts, from: { afterSequence, epoch, mark } };
}

interface Following {
  readonly bus: Bus;
  readonly filter: string;
  readonly table: ServiceTable;
  readonly onChanged: (hosts: ReadonlySet<string>) => void;
}

/** When the sequence begins anew, everything is read again: earlier services are there again, or are deleted by their publisher. */
async function followOne(following: Following, start: Position, stop: AbortSignal): Promise<void> {
  const { bus, filter, table, onChanged } = following;
  for (let from = start; !stop.aborted; ) {
    for await (const item of subscribe({ bus, seal: undefined, filter, ...from }, stop)) {
      if (item.kind === "reset") break;
      if (item.kind === "group") onChanged(new Set(item.group.changes.flatMap((change) => table.note(change) ?? [])));
    }
    if (stop.aborted) return;
    const again = await readAll(bus, filter, table);
    onChanged(again.hosts);
    from = again.from;
  }
}
