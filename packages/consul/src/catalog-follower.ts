/**
 * Follows the services of one datacenter, namespace and partition: one blocking query on the list of services, one on the
 * health of each. What is known stays known while the agent is away.
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

const longWaitMs = 300_000;
/** With more services than slots each waits a moment only, so that all get their turn. */
const crowdedWaitMs = 1_000;
const pauseMs = 40;

/** Follows a scope and yields services as they change; the first event of each service has all its instances. */
export class CatalogFollower {
  readonly scope: CatalogScope;
  readonly #options: CatalogFollowerOptions;
  readonly #services = new Map<string, { readonly stop: AbortController; read: boolean }>();
  readonly #problems = new Map<string, readonly CatalogProblem[]>();
  #isListed = false;
  #away: { readonly sinceMs: number; readonly reason: string } | undefined;

  constructor(options: CatalogFollowerOptions) {
    this.#options = options;
    this.scope = options.scope;
  }

  /** Every service of the list has been read once. */
  get isComplete(): boolean {
    return this.#isListed && [...this.#services.values()].every(({ read }) => read);
  }

  /** Set while the agent does not answer: what is known is as old as this. */
  get away(): { readonly sinceMs: number; readonly reason: string } | undefined {
    return this.#away;
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
    for await (const body of this.#query((index) => this.#askList(index, all), all)) {
      const names = this.#parsed(() => new Set(parseServiceNames(body)));
      if (names === undefined) continue;
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
    for await (const body of this.#query((index) => this.#askHealth(name, index, stop), stop)) {
      const parsed = this.#parsed(() => parseInstances(body));
      if (parsed === undefined) continue;
      const { instances, problems } = parsed;
      const object = consulOrigin(key);
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
    this.#options.onEvent({ key: this.#key(name), instances: [] });
  }

  #query(ask: (index: number) => Promise<ConsulAnswer | undefined>, stop: AbortSignal): AsyncGenerator<unknown> {
    const onFailure = (error: unknown) => this.#onFailure(error);
    const { random } = this.#options;
    return blockingQuery({ ask, onFailure, onAnswer: () => this.#onAnswer(), pauseMs, random }, stop);
  }

  #askList(index: number, stop: AbortSignal): Promise<ConsulAnswer> {
    return this.#options.client.ask(this.#question("/v1/catalog/services", index, longWaitMs), stop);
  }

  /** A long wait is cut short when others need the connection. */
  #askHealth(name: string, index: number, stop: AbortSignal): Promise<ConsulAnswer | undefined> {
    const { client, slots } = this.#options;
    return slots.run(async () => {
      const isLong = !slots.isCrowded;
      const cut = slots.wanted;
      const path = `/v1/health/service/${encodeURIComponent(name)}`;
      const question = this.#question(path, index, isLong ? longWaitMs : crowdedWaitMs);
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

  /** Undefined for an answer that is none: what is known stays. */
  #parsed<T>(parse: () => T): T | undefined {
    try {
      return parse();
    } catch (error) {
      this.#onFailure(error);
      return undefined;
    }
  }

  #key(name: string): ConsulServiceKey {
    return { ...this.scope, name };
  }

  #onFailure(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    if (this.#away?.reason === reason) return;
    this.#away = { sinceMs: this.#away?.sinceMs ?? this.#options.nowMs(), reason };
    this.#options.onState();
  }

  #onAnswer(): void {
    if (this.#away === undefined) return;
    this.#away = undefined;
    this.#options.onState();
  }
}
