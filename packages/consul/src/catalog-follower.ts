/**
 * Follows the services of one datacenter, namespace and partition: one blocking query on the list of services, one on the health of each.
 * The last state stays in force while the agent is away.
 */
import { type ConsulInstance, type ConsulServiceKey, consulOrigin } from "@flotilla/registry";
import { blockingQuery } from "./blocking-query.ts";
import type { ConsulAnswer, ConsulClient, ConsulQuestion } from "./consul-client.ts";
import { type InstanceProblem, parseInstances, parseServiceNames } from "./parse-answer.ts";
import type { Slots } from "./slots.ts";

/** One datacenter, namespace and partition of a Consul. */
export interface CatalogScope {
  readonly datacenter: string;
  readonly namespace: string;
  readonly partition: string;
}

/** All instances of a service as they are now; none: the service is gone. */
export interface CatalogEvent {
  readonly key: ConsulServiceKey;
  readonly instances: readonly ConsulInstance[];
}

/** An instance that was left out, with the service it belongs to. */
export interface CatalogProblem extends InstanceProblem {
  /** `Consul/datacenter/name`. */
  readonly object: string;
}

/** The client, the scope and the bounds of following it. */
export interface CatalogFollowerOptions {
  readonly client: ConsulClient;
  readonly scope: CatalogScope;
  /** Shared by all followers: an agent takes a bounded number of connections. */
  readonly slots: Slots;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onEvent: (event: CatalogEvent) => void;
  /** The first time that the list and every service on it are read, and each time that the state below changes. */
  readonly onState: () => void;
}

/** Since when, and why, a question has had no answer that can be read. */
interface Away {
  readonly sinceMs: number;
  readonly reason: string;
}

const longWaitMs = 300_000;
/** With more services than slots each waits a moment only, so that all get their turn. */
const crowdedWaitMs = 1_000;
const pauseMs = 40;
const listPath = "/v1/catalog/services";
const healthPath = (name: string): string => `/v1/health/service/${encodeURIComponent(name)}`;

/** Follows a scope and yields services as they change; the first event of each service has all its instances. */
export class CatalogFollower {
  readonly scope: CatalogScope;
  readonly #options: CatalogFollowerOptions;
  readonly #services = new Map<string, { readonly stop: AbortController; read: boolean }>();
  readonly #problems = new Map<string, readonly CatalogProblem[]>();
  #isListed = false;
  /** By path: an answer to one request gives no information about another. */
  readonly #unanswered = new Map<string, Away>();

  constructor(options: CatalogFollowerOptions) {
    this.#options = options;
    this.scope = options.scope;
  }

  /** Every service of the list has been read once. */
  get isComplete(): boolean {
    return this.#isListed && [...this.#services.values()].every(({ read }) => read);
  }

  /** Set while a question has no answer, to the one that waits longest: the state of the catalog is as old as this. */
  get away(): Away | undefined {
    const [longest] = this.#unanswered.values();
    return longest;
  }

  problems(): readonly CatalogProblem[] {
    return [...this.#problems.values()].flat();
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    const failed = new AbortController();
    const all = AbortSignal.any([stop, failed.signal]);
    let failure: unknown;
    const namesIn = (body: unknown) => new Set(parseServiceNames(body));
    for await (const names of this.#answers(listPath, (index) => this.#askList(index, all), namesIn, all)) {
      this.#isListed = true;
      for (const [name, { stop: own }] of this.#services) if (!names.has(name)) this.#end(name, own);
      for (const name of names) {
        if (this.#services.has(name)) continue;
        const own = new AbortController();
        this.#services.set(name, { stop: own, read: false });
        const following = this.#follow(name, AbortSignal.any([all, own.signal])).catch((cause: unknown) => {
          failure = cause;
          failed.abort(cause);
        });
        running.add(following);
        void following.then(() => running.delete(following));
      }
      this.#options.onState();
    }
    await Promise.all(running);
    if (failure !== undefined && !stop.aborted) throw failure;
  }

  async #follow(name: string, stop: AbortSignal): Promise<void> {
    const key = this.#key(name);
    const object = consulOrigin(key);
    const ask = (index: number) => this.#askHealth(name, index, stop);
    for await (const { instances, problems } of this.#answers(healthPath(name), ask, parseInstances, stop)) {
      if (problems.length === 0) this.#problems.delete(name);
      else
        this.#problems.set(
          name,
          problems.map((problem) => ({ object, ...problem })),
        );
      this.#options.onEvent({ key, instances });
      const known = this.#services.get(name);
      if (known === undefined || known.read) continue;
      known.read = true;
      if (this.isComplete) this.#options.onState();
    }
  }

  #end(name: string, own: AbortController): void {
    own.abort();
    this.#services.delete(name);
    this.#problems.delete(name);
    this.#unanswered.delete(healthPath(name));
    this.#options.onEvent({ key: this.#key(name), instances: [] });
  }

  /** The answers to one question that could be read; for any other what is known stays. */
  async *#answers<T>(
    path: string,
    ask: (index: number) => Promise<ConsulAnswer | undefined>,
    parse: (body: unknown) => T,
    stop: AbortSignal,
  ): AsyncGenerator<T> {
    const onFailure = (error: unknown) => this.#onFailure(path, error);
    for await (const body of blockingQuery({ ask, onFailure, pauseMs, random: this.#options.random }, stop)) {
      let answer: T;
      try {
        answer = parse(body);
      } catch (error) {
        onFailure(error);
        continue;
      }
      if (this.#unanswered.delete(path)) this.#options.onState();
      yield answer;
    }
  }

  #askList(index: number, stop: AbortSignal): Promise<ConsulAnswer> {
    return this.#options.client.ask(this.#question(listPath, index, longWaitMs), stop);
  }

  /** A long wait is cut short when others need the connection. */
  #askHealth(name: string, index: number, stop: AbortSignal): Promise<ConsulAnswer | undefined> {
    const { client, slots } = this.#options;
    return slots.run(async () => {
      const isLong = !slots.isCrowded;
      const cut = slots.wanted;
      const question = this.#question(healthPath(name), index, isLong ? longWaitMs : crowdedWaitMs);
      try {
        return await client.ask(question, isLong ? AbortSignal.any([stop, cut]) : stop);
      } catch (cause) {
        if (isLong && cut.aborted && !stop.aborted) return undefined;
        throw cause;
      }
    }, stop);
  }

  #question(path: string, index: number, waitMs: number): ConsulQuestion {
    const { datacenter, namespace, partition } = this.scope;
    return { path, parameters: { dc: datacenter, ns: namespace, partition }, index, waitMs };
  }

  #key(name: string): ConsulServiceKey {
    return { ...this.scope, name };
  }

  #onFailure(path: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const before = this.#unanswered.get(path);
    if (before?.reason === reason) return;
    this.#unanswered.set(path, { sinceMs: before?.sinceMs ?? this.#options.nowMs(), reason });
    this.#options.onState();
  }
}
