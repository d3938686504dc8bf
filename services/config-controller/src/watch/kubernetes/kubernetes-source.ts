/**
 * The configuration objects of a Kubernetes API: every kind it serves that the mesh supports. Kinds may come and go while running; an API
 * server that is away, or rejects a kind, takes nothing out of force.
 */
import type { KubeApi } from "@flotilla/kube-api";
import { type ConfigChange, type ConfigKey, configKeyText, type KubeObject } from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import { type Admission, PendingChanges, type SourceProblem } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "../config-source.ts";
import { KindFollowers } from "./kind-followers.ts";
import type { ObjectEvent } from "./kind-table.ts";
import { RevisionTags } from "./revision-tags.ts";
import type { Scope } from "./served-kinds.ts";

export interface KubernetesOptions {
  readonly api: KubeApi;
  readonly admission: Admission;
  readonly revision: string;
  /** Everything by default. */
  readonly scope?: Scope;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onProblems: () => void;
  /** An object that is in force was added, changed or deleted. */
  readonly onEvent?: ((kind: string, event: ObjectEvent) => void) | undefined;
  /** Called with each object as the API server has it, its status included; undefined: it is gone. */
  readonly onStored?: (key: ConfigKey, object: KubeObject | undefined) => void;
  /** How often the API server is asked which kinds it serves. */
  readonly discoverMs?: number;
  /** The objects of a kind that is served no more stay in force for this long: CRDs are replaced by being deleted first. */
  readonly vanishedKindMs?: number;
}

/** Events within this time are one group: a watch carries no transaction. After a quiet while the first group leaves sooner. */
const gatherMs = 10;
const gatherInQuietMs = 2;
const quietMs = 100;
/** A wait may be given up without notice, so its conditions are checked again. */
const lookAgainMs = 1_000;

export function kubernetesConfig(options: KubernetesOptions): ConfigSource {
  return new KubernetesConfig(options);
}

class KubernetesConfig implements ConfigSource {
  readonly name = "kubernetes";
  readonly #options: KubernetesOptions;
  readonly #followers: KindFollowers;
  readonly #tags: RevisionTags;
  readonly #troubles = new Map<string, string>();
  readonly #wakeup = new Wakeup();
  readonly #pending: PendingChanges<ConfigChange>;
  /** Kinds that could not be listed when the last complete group was given. */
  #unlisted: ReadonlySet<string> = new Set();
  #failure: { readonly cause: unknown } | undefined;

  constructor(options: KubernetesOptions) {
    this.#options = options;
    this.#pending = new PendingChanges({ nameOf: ({ key }) => configKeyText(key), nowMs: options.nowMs });
    const onState = (object: string, reason: string | undefined) => this.#noteTrouble(object, reason);
    this.#tags = new RevisionTags({
      ...options,
      onChange: () => {
        this.#followers.reconsider();
        onState("revision tags", this.#tags.failure);
        this.#wakeup.wake();
      },
    });
    this.#followers = new KindFollowers({
      scope: { namespaces: [], ignored: [], included: [] },
      discoverMs: 5_000,
      vanishedKindMs: 30_000,
      ...options,
      source: this.name,
      revisionOf: (label) => this.#tags.revisionOf(label),
      onChange: (changes) => this.#emit(changes),
      onState,
      onFailure: (cause) => this.#fail(cause),
    });
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const fail = (cause: unknown) => this.#fail(cause);
    const working = [this.#followers.run(running).catch(fail), this.#tags.run(running).catch(fail)];
    let isFirst = true;
    let takenAtMs = 0;
    try {
      while (!stop.aborted && this.#failure === undefined) {
        const isDue = isFirst ? this.#isComplete() : !this.#pending.isEmpty || this.#isMoreListed();
        if (!isDue || this.#followers.isTaking) {
          await this.#wakeup.waitShared(running, lookAgainMs);
          continue;
        }
        const isQuiet = this.#options.nowMs() - takenAtMs >= quietMs;
        if (!isFirst) await delay(isQuiet ? gatherInQuietMs : gatherMs, running);
        if (this.#followers.isTaking) continue;
        takenAtMs = this.#options.nowMs();
        yield this.#take(isFirst);
        isFirst = false;
      }
      if (this.#failure !== undefined && !stop.aborted) throw this.#failure.cause;
    } finally {
      ended.abort();
      await Promise.all(working);
    }
  }

  problems(): readonly SourceProblem[] {
    const troubles = [...this.#troubles].map(([object, reason]) => ({ file: "", line: 0, object, reason }));
    return [...troubles, ...this.#followers.problems];
  }

  isIncomplete({ kind, namespace }: ConfigKey): boolean {
    return this.#unlisted.has(kind) || this.#unlisted.has(`${kind} of namespace ${namespace}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.api[Symbol.dispose]();
  }

  #isComplete(): boolean {
    return this.#followers.isComplete && this.#tags.isSettled;
  }

  #isMoreListed(): boolean {
    if (this.#unlisted.size === 0) return false;
    const unlisted = this.#followers.unlisted();
    return [...this.#unlisted].some((name) => !unlisted.has(name));
  }

  #take(isFirst: boolean): ConfigGroup {
    const isComplete = isFirst || this.#isMoreListed();
    if (isComplete) this.#unlisted = this.#followers.unlisted();
    const { changes, eventTimeMs } = this.#pending.take();
    return { changes, eventTimeMs, ...(isComplete && { isComplete }) };
  }

  #noteTrouble(object: string, reason: string | undefined): void {
    const { log, onProblems } = this.#options;
    const before = this.#troubles.get(object);
    if (before === reason) return;
    if (reason === undefined) this.#troubles.delete(object);
    else this.#troubles.set(object, reason);
    if (before === undefined) log.warn("watch failed", { kind: object, reason });
    onProblems();
  }

  #emit(changes: readonly ConfigChange[]): void {
    for (const change of changes) this.#pending.add(change);
    this.#wakeup.wake();
  }

  #fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#wakeup.wake();
  }
}
