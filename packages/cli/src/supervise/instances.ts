/**
 * The processes to run, with their ports. The only replica of a service binds the service's ports itself. Several replicas get ports of
 * their own, and the ports that clients use are those of a balancer before them.
 */
import { freePort } from "@flotilla/servers";
import {
  healthPort,
  type Layout,
  type Ports,
  portsOf,
  type ReplicaCounts,
  type ServiceName,
  services,
} from "../layout.ts";

export interface Instance {
  readonly name: ServiceName;
  /** The service's name, or with its number where it has several replicas: `xds-server-2`. */
  readonly replica: string;
  /** Those of the layout, with its own in place of those it cannot share. */
  readonly ports: Ports;
}

/** A port that clients use, and the ports of the replicas behind it. */
export interface Front {
  readonly name: ServiceName;
  readonly port: number;
  readonly targets: readonly number[];
}

export interface Plan {
  readonly instances: readonly Instance[];
  readonly fronts: readonly Front[];
}

/** `newPort` finds a free port. */
export async function planInstances(
  { ports }: Pick<Layout, "ports">,
  replicas: ReplicaCounts,
  newPort: () => Promise<number> = freePort,
): Promise<Plan> {
  const instances: Instance[] = [];
  const fronts: Front[] = [];
  for (const name of services) {
    const count = countOf(name, replicas);
    if (count === 0) continue;
    const own = await portsOfReplicas(name, { ports, count, newPort });
    const isSingle = count === 1;
    instances.push(...own.map((at, i) => ({ name, replica: isSingle ? name : `${name}-${i + 1}`, ports: at })));
    if (isSingle) continue;
    const fixed = portsOf[name].clients.filter((client) => ports[client] !== 0);
    fronts.push(...fixed.map((client) => ({ name, port: ports[client], targets: own.map((at) => at[client]) })));
  }
  return { instances, fronts };
}

/** Tests and scripts have no use of a console unless they name it. */
function countOf(name: ServiceName, replicas: ReplicaCounts): number {
  return replicas[name] ?? (name === "console" ? 0 : 1);
}

/** Where the console finds every replica of the others. */
export function consoleSettings(instances: readonly Instance[]): Readonly<Record<string, string>> {
  const others = services.filter((name) => name !== "console");
  return Object.fromEntries(
    others.map((name) => {
      const own = instances.filter((instance) => instance.name === name);
      const pages = own.map(({ replica, ports }) => `${replica}=http://127.0.0.1:${healthPort(name, ports)}`);
      return [`CONSOLE_${name.toUpperCase().replaceAll("-", "_")}`, pages.join(",")];
    }),
  );
}

interface Replicated {
  readonly ports: Ports;
  readonly count: number;
  readonly newPort: () => Promise<number>;
}

/** The first replica keeps the port of the health and debug pages. */
async function portsOfReplicas(name: ServiceName, { ports, count, newPort }: Replicated): Promise<readonly Ports[]> {
  if (count === 1) return [ports];
  const { health, clients } = portsOf[name];
  const all: Ports[] = [];
  for (let i = 0; i < count; i++) {
    const own: Partial<Record<keyof Ports, number>> = i === 0 ? {} : { [health]: await newPort() };
    // 0 is any free port: each replica takes one itself.
    for (const client of clients) if (ports[client] !== 0) own[client] = await newPort();
    all.push({ ...ports, ...own });
  }
  return all;
}
