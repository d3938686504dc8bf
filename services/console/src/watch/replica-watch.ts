/** Readiness of the replicas of all services, polled for all callers together: readiness is for everybody. */
import type { ReplicaState, ServiceName } from "@flotilla/console/contract";
import { delay } from "@flotilla/runtime";
import type { Address, Services } from "../upstream/services.ts";

export type WatchedReplica = ReplicaState & { readonly address: Address };

/** The services of a control plane, in the order in which they are shown. */
export const watchedServices = ["config-controller", "service-controller", "xds-server", "ca", "webhook"] as const;

interface ReadyPage {
  readonly ready?: boolean;
  readonly conditions?: readonly { readonly name: string; readonly detail: string }[];
}

interface VersionPage {
  readonly version?: string;
  readonly startedAt?: string;
}

const everyMs = 1_000;

export class ReplicaWatch {
  readonly #services: Services;
  readonly #listeners = new Set<(changed: readonly WatchedReplica[]) => void>();
  #replicas: readonly WatchedReplica[] = [];

  constructor(services: Services) {
    this.#services = services;
  }

  list(): readonly WatchedReplica[] {
    return this.#replicas;
  }

  /** Called with replicas that changed state or restarted; returns a function that ends the subscription. */
  onChange(listener: (changed: readonly WatchedReplica[]) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.look();
      await delay(everyMs, stop);
    }
  }

  async look(): Promise<void> {
    const before = new Map(this.#replicas.map((one) => [keyOf(one), one]));
    this.#replicas = (await Promise.all(watchedServices.map((service) => this.#statesOf(service)))).flat();
    const changed = this.#replicas.filter((one) => isAnother(before.get(keyOf(one)), one));
    if (changed.length > 0) for (const listener of this.#listeners) listener(changed);
  }

  async #statesOf(service: ServiceName): Promise<readonly WatchedReplica[]> {
    const replicas = await this.#services.replicas(service);
    return Promise.all(replicas.map((address) => this.#stateOf(service, address)));
  }

  async #stateOf(service: ServiceName, address: Address): Promise<WatchedReplica> {
    const known = { service, replica: address.name, address };
    // The version is read at each poll: a process replaced between two polls may be of another version.
    const [ready, { version, startedAt }] = await Promise.all([
      this.#services.at<ReadyPage>(service, address, { path: "/ready" }),
      this.#versionOf(service, address),
    ]);
    // Of a service that is not ready, the status is 503 and the page its message.
    const page = ready.isAnswered ? ready.value : pageIn(ready.away.message);
    if (!ready.isAnswered && ready.status === undefined) return { ...known, state: "away", detail: ready.away.message };
    const detail = (page.conditions ?? []).map(({ name, detail: of }) => `${name}: ${of}`).join(", ");
    return {
      ...{ ...known, state: page.ready === true ? "ready" : "not-ready", detail },
      ...(version !== undefined && { version }),
      ...(startedAt !== undefined && { startedAt }),
    };
  }

  async #versionOf(service: ServiceName, address: Address): Promise<VersionPage> {
    const answer = await this.#services.at<VersionPage>(service, address, { path: "/version" });
    return answer.isAnswered ? answer.value : {};
  }
}

function isAnother(before: WatchedReplica | undefined, now: WatchedReplica): boolean {
  return before?.state !== now.state || (now.state !== "away" && before.startedAt !== now.startedAt);
}

function keyOf({ service, replica }: Pick<WatchedReplica, "service" | "replica">): string {
  return `${service} ${replica}`;
}

function pageIn(text: string): ReadyPage {
  try {
    return JSON.parse(text) as ReadyPage;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
