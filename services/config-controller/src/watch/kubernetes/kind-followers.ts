/** One follower for each list of objects that the API server serves; kinds come and go while it runs. */
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import type { ConfigChange, ConfigKey, KubeObject } from "@flotilla/model";
import { delay, type Logger } from "@flotilla/runtime";
import type { Admission, SourceProblem } from "@flotilla/sources";
import { KindFollower } from "./kind-follower.ts";
import type { ObjectEvent } from "./kind-table.ts";
import { type Scope, type ServedKind, ServedKinds, wantedKinds } from "./served-kinds.ts";

export interface KindFollowersOptions {
  readonly api: KubeApi;
  readonly admission: Admission;
  readonly revisionOf: (label: string | undefined) => string;
  readonly source: string;
  readonly scope: Scope;
  readonly discoverMs: number;
  readonly vanishedKindMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** Something changed; `changes` may be empty. */
  readonly onChange: (changes: readonly ConfigChange[]) => void;
  readonly onStored?: (key: ConfigKey, object: KubeObject | undefined) => void;
  /** The rejected objects changed. */
  readonly onProblems: () => void;
  readonly onEvent?: ((kind: string, event: ObjectEvent) => void) | undefined;
  /** An object that cannot be read, and why; undefined: it can. */
  readonly onState: (object: string, reason: string | undefined) => void;
  /** A follower failed in a way that trying again does not help. */
  readonly onFailure: (cause: unknown) => void;
}

export class KindFollowers {
  readonly #options: KindFollowersOptions;
  readonly #wanted: ReturnType<typeof wantedKinds>;
  readonly #followers = new Map<string, KindFollower>();
  /** When the API server first answered which kinds it serves. */
  #discoveredAtMs: number | undefined;

  constructor(options: KindFollowersOptions) {
    this.#options = options;
    this.#wanted = wantedKinds(options.scope);
  }

  /** Every kind that is served has been listed, or cannot be. */
  get isComplete(): boolean {
    return this.#discoveredAtMs !== undefined && this.#all.every(({ isSettled }) => isSettled);
  }

  /** A list is being taken in, and its changes belong together. */
  get isTaking(): boolean {
    return this.#all.some(({ isTaking }) => isTaking);
  }

  get problems(): readonly SourceProblem[] {
    return this.#all.flatMap(({ table }) => table.problems);
  }

  /** Kinds that cannot be read, and kinds that were not served from the start: their CRD may be about to be replaced. */
  unlisted(): ReadonlySet<string> {
    const { nowMs, vanishedKindMs } = this.#options;
    const unlisted = new Set<string>();
    for (const [name, { isListed }] of this.#followers) if (!isListed) unlisted.add(name);
    if (nowMs() - (this.#discoveredAtMs ?? nowMs()) >= vanishedKindMs) return unlisted;
    const served = new Set(this.#all.map(({ kind }) => kind));
    for (const { name } of this.#wanted) if (!served.has(name)) unlisted.add(name);
    return unlisted;
  }

  /** After `revisionOf` answers otherwise than before. */
  reconsider(): void {
    for (const follower of this.#all) follower.reconsider();
  }

  /** Runs until `stop` fires. */
  async run(stop: AbortSignal): Promise<void> {
    const { api, scope, discoverMs, nowMs, onState, onChange } = this.#options;
    const kinds = new ServedKinds({ api, wanted: this.#wanted, namespaces: scope.namespaces, nowMs });
    const following: Promise<void>[] = [];
    while (!stop.aborted) {
      try {
        const served = await kinds.read();
        onState("Kinds", undefined);
        for (const [name, one] of served) following.push(...this.#begin(name, one, stop));
        this.#endVanished(served);
        this.#discoveredAtMs ??= nowMs();
        onChange([]);
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (!stop.aborted) onState("Kinds", `which are served is not known: ${error.message}`);
      }
      await delay(this.#discoveredAtMs === undefined ? Math.min(discoverMs, 1_000) : discoverMs, stop);
    }
    await Promise.all(following);
  }

  get #all(): readonly KindFollower[] {
    return [...this.#followers.values()];
  }

  #begin(name: string, served: ServedKind, stop: AbortSignal): readonly Promise<void>[] {
    const { log, onState, onFailure } = this.#options;
    const known = this.#followers.get(name);
    if (known?.isFollowing === true) return [];
    if (this.#discoveredAtMs !== undefined) log.info("kind served", { kind: name });
    const cannot = (reason: string) => `cannot be read, the last known state stays: ${reason}`;
    const follower =
      known ??
      new KindFollower({
        ...this.#options,
        onState: (reason) => {
          if (reason !== undefined) onState(name, cannot(reason));
          else if (follower.spared === 0) onState(name, undefined);
        },
        onGoing: () => this.#onVanished(name, follower),
      });
    this.#followers.set(name, follower);
    return [follower.run(served, stop).catch(onFailure)];
  }

  #endVanished(served: ReadonlyMap<string, unknown>): void {
    const { log, nowMs, vanishedKindMs, onState } = this.#options;
    for (const [name, follower] of this.#followers) {
      if (!served.has(name) && follower.isFollowing) this.#onVanished(name, follower);
      else if (nowMs() - follower.vanishedAtMs >= vanishedKindMs) {
        const objects = follower.spared;
        if (objects === 0 && follower.isFollowing) continue;
        log.warn("objects removed with their kind", { kind: name, objects });
        follower.endSparing();
        onState(name, undefined);
        if (!follower.isFollowing) this.#followers.delete(name);
      }
    }
  }

  #onVanished(name: string, follower: KindFollower): void {
    const { log, vanishedKindMs: ms, onState } = this.#options;
    follower.vanish();
    const objects = follower.spared;
    log.warn("kind no longer served, its objects stay in force for a while", { kind: name, objects, ms });
    onState(name, `is served no more: its ${objects} objects stay in force for ${ms / 1_000} s`);
  }
}
