/**
 * The configuration objects of a Kubernetes API: every kind it serves that the mesh knows. Kinds may come and go while running;
 * an API server that is away takes nothing out of force.
 */
import { type KubeApi, KubeError, mirror } from "@flotilla/kube-api";
import { type ConfigChange, configKeyText, type KubeObject } from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import type { Admission, SourceProblem } from "@flotilla/sources";
import type { ConfigGroup, ConfigSource } from "../config-source.ts";
import { KindTable } from "./kind-table.ts";
import { type ServedKind, servedKinds } from "./served-kinds.ts";

export interface KubernetesOptions {
  readonly api: KubeApi;
  readonly admission: Admission;
  readonly revision: string;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly onProblems: () => void;
  /** How often the API server is asked which kinds it serves. */
  readonly discoverMs?: number;
  /** The objects of a kind that is served no more stay in force for this long: CRDs are replaced by being deleted first. */
  readonly vanishedKindMs?: number;
}

/** Events within this time are one group: a watch carries no transaction. */
const gatherMs = 10;

interface Followed {
  readonly table: KindTable;
  readonly stop: AbortController;
  isListed: boolean;
  vanishedAtMs: number | undefined;
}

export function kubernetesConfig(options: KubernetesOptions): ConfigSource {
  return new KubernetesConfig(options);
}

class KubernetesConfig implements ConfigSource {
  readonly name = "kubernetes";
  readonly #options: KubernetesOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #failures = new Map<string, string>();
  readonly #wakeup = new Wakeup();
  #pending = new Map<string, ConfigChange>();
  #pendingSinceMs: number | undefined;
  #isDiscovered = false;
  #failure: { readonly cause: unknown } | undefined;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  async *groups(stop: AbortSignal): AsyncGenerator<ConfigGroup, void, undefined> {
    const { nowMs } = this.#options;
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const discovery = this.#discover(running).catch((cause: unknown) => this.#fail(cause));
    let isFirst = true;
    try {
      while (!stop.aborted && this.#failure === undefined) {
        const isDue = isFirst ? this.#isComplete() : this.#pending.size > 0;
        if (!isDue) {
          await this.#wakeup.wait(running);
          continue;
        }
        if (!isFirst) await delay(gatherMs, running);
        isFirst = false;
        const changes = [...this.#pending.values()];
        const eventTimeMs = this.#pendingSinceMs ?? nowMs();
        this.#pending = new Map();
        this.#pendingSinceMs = undefined;
        yield { changes, eventTimeMs };
      }
      if (this.#failure !== undefined && !stop.aborted) throw this.#failure.cause;
    } finally {
      ended.abort();
      await discovery;
    }
  }

  problems(): readonly SourceProblem[] {
    const away = [...this.#failures].map(([object, reason]) => ({ file: "", line: 0, object, reason }));
    return [...away, ...[...this.#followed.values()].flatMap(({ table }) => table.problems)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#options.api[Symbol.dispose]();
  }

  /** Every kind that is served has been listed. */
  #isComplete(): boolean {
    return this.#isDiscovered && [...this.#followed.values()].every(({ isListed }) => isListed);
  }

  /** Runs until `stop` fires. */
  async #discover(stop: AbortSignal): Promise<void> {
    const { api, discoverMs = 10_000 } = this.#options;
    const following: Promise<void>[] = [];
    while (!stop.aborted) {
      try {
        const served = await servedKinds(api);
        this.#noteState("Kinds", undefined);
        for (const [name, one] of served) following.push(...this.#begin(name, one, stop));
        this.#endVanished(served);
        this.#isDiscovered = true;
        this.#wakeup.wake();
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (!stop.aborted) this.#noteState("Kinds", error.message);
      }
      await delay(this.#isDiscovered ? discoverMs : Math.min(discoverMs, 1_000), stop);
    }
    await Promise.all(following);
  }

  #begin(name: string, { kind, path }: ServedKind, stop: AbortSignal): readonly Promise<void>[] {
    const { admission, revision, log } = this.#options;
    const known = this.#followed.get(name);
    if (known !== undefined && known.vanishedAtMs === undefined) return [];
    if (this.#isDiscovered) log.info("a kind is served", { kind: name });
    const table = known?.table ?? new KindTable({ kind: name, admission, revision, source: this.name });
    const followed: Followed = {
      table,
      stop: new AbortController(),
      isListed: known?.isListed ?? false,
      vanishedAtMs: undefined,
    };
    this.#followed.set(name, followed);
    const until = AbortSignal.any([stop, followed.stop.signal]);
    return [this.#follow(name, kind.kind, path, followed, until).catch((cause: unknown) => this.#fail(cause))];
  }

  #endVanished(served: ReadonlyMap<string, unknown>): void {
    const { log, nowMs, vanishedKindMs = 30_000 } = this.#options;
    for (const [name, followed] of this.#followed) {
      if (served.has(name)) continue;
      if (followed.vanishedAtMs === undefined) {
        log.warn("a kind is served no more, its objects stay in force for a while", { kind: name, ms: vanishedKindMs });
        followed.vanishedAtMs = nowMs();
        followed.stop.abort();
        this.#noteState(name, undefined);
      } else if (nowMs() - followed.vanishedAtMs >= vanishedKindMs) {
        this.#say(followed.table.clear());
        this.#followed.delete(name);
      }
    }
  }

  async #follow(name: string, kind: string, path: string, followed: Followed, stop: AbortSignal): Promise<void> {
    const { api, random, onProblems } = this.#options;
    const onState = (reason: string | undefined) => {
      if (!stop.aborted) this.#noteState(name, reason);
    };
    for await (const event of mirror<KubeObject>(api, { path, random, onState }, stop)) {
      const { table } = followed;
      if (stop.aborted) return;
      if (event.type === "list") this.#say(table.replace(event.objects.map((object) => ({ ...object, kind }))));
      else if (event.type === "put") this.#say(table.put({ ...event.object, kind }));
      else this.#say(table.delete(event.object));
      followed.isListed = true;
      onProblems();
      this.#wakeup.wake();
    }
  }

  #noteState(object: string, reason: string | undefined): void {
    const { log, onProblems } = this.#options;
    const before = this.#failures.get(object);
    if (reason === undefined) this.#failures.delete(object);
    else this.#failures.set(object, `cannot be read, what is known stays: ${reason}`);
    if (reason !== undefined && before === undefined) log.warn("cannot be followed", { kind: object, reason });
    if ((reason === undefined) !== (before === undefined)) onProblems();
  }

  #say(changes: readonly ConfigChange[]): void {
    if (changes.length === 0) return;
    this.#pendingSinceMs ??= this.#options.nowMs();
    for (const change of changes) this.#pending.set(configKeyText(change.key), change);
    this.#wakeup.wake();
  }

  #fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#wakeup.wake();
  }
}
