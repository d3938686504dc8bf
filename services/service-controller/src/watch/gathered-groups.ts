/**
 * Changes of a registry of several parts, as groups. The first has all parts, or those read in time: the published state of the rest stays.
 * Each later one has the changes since the one before, and a change of the readable parts is yielded even alone.
 */
import { objectKey } from "@flotilla/model";
import { consulKeyText, type RegistryInput } from "@flotilla/registry";
import { Wakeup } from "@flotilla/runtime";
import { PendingChanges } from "@flotilla/sources";
import type { InputGroup } from "./input-source.ts";

export interface GatheringOptions {
  /** The first group does not wait longer. */
  readonly syncTimeoutMs: number;
  readonly nowMs: () => number;
  /** Reads and follows the registry until `stop`; passes each change to `emit`. */
  readonly follow: (stop: AbortSignal) => Promise<void>;
  /** Shards that could not be read yet. */
  readonly unread: () => readonly string[];
  /** Shards that were read and cannot be followed now. */
  readonly old?: () => readonly string[];
  /**
   * A group of pods alone leaves this long after the one before it, at the earliest: under churn several travel together. Nothing waits that
   * endpoints are made of.
   */
  readonly podGapMs?: number;
  /** Called with the shards that the first group goes without, if any. */
  readonly onLate: (unread: readonly string[]) => void;
}

export class GatheredGroups {
  readonly #options: GatheringOptions;
  readonly #pending: PendingChanges<RegistryInput>;
  readonly #wakeup = new Wakeup();
  #failure: { readonly cause: unknown } | undefined;
  #hasOnlyPods = true;

  constructor(options: GatheringOptions) {
    this.#options = options;
    this.#pending = new PendingChanges({ nameOf: inputText, nowMs: options.nowMs });
  }

  emit(input: RegistryInput): void {
    if (input.type === "cluster") this.#pending.drop((one) => "cluster" in one && one.cluster === input.cluster);
    this.#pending.add(input);
    this.#hasOnlyPods &&= isPod(input);
    this.#wakeup.wake();
  }

  /** `unread` or `old` may have changed. */
  wake(): void {
    this.#wakeup.wake();
  }

  /** The registry cannot be followed any more, by a fault of ours. */
  fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#wakeup.wake();
  }

  /** @throws what `fail` was called with */
  async *groups(stop: AbortSignal): AsyncGenerator<InputGroup, void, undefined> {
    const { syncTimeoutMs, nowMs, follow, unread: unreadNow, old = () => [], onLate, podGapMs = 0 } = this.#options;
    const ended = new AbortController();
    const running = AbortSignal.any([stop, ended.signal]);
    const work = follow(running).catch((cause: unknown) => this.fail(cause));
    const deadline = nowMs() + syncTimeoutMs;
    let reported: readonly string[] | undefined;
    let leftAtMs = Number.NEGATIVE_INFINITY;
    try {
      while (!stop.aborted && this.#failure === undefined) {
        const unread = unreadNow();
        const left = reported === undefined && unread.length > 0 ? deadline - nowMs() : 0;
        const stays = [...unread, ...old()];
        const isDue = reported === undefined ? left <= 0 : !this.#pending.isEmpty || stays.length !== reported.length;
        const gapMs = this.#hasOnlyPods && stays.length === reported?.length ? leftAtMs + podGapMs - nowMs() : 0;
        if (isDue && gapMs > 0) await this.#wakeup.wait(running, Math.min(gapMs, podGapMs));
        else if (isDue) {
          if (reported === undefined && unread.length > 0) onLate(unread);
          reported = stays;
          const { changes: inputs, eventTimeMs } = this.#pending.take();
          this.#hasOnlyPods = true;
          leftAtMs = nowMs();
          yield { inputs, eventTimeMs, unread: stays };
        } else await this.#wakeup.wait(running, left > 0 ? left : Number.POSITIVE_INFINITY);
      }
      if (this.#failure !== undefined && !stop.aborted) throw this.#failure.cause;
    } finally {
      ended.abort();
      await work;
    }
  }
}

function isPod(input: RegistryInput): boolean {
  return input.type === "object" && (input.op === "put" ? input.object.kind : input.key.kind) === "Pod";
}

function inputText(input: RegistryInput): string {
  if (input.type === "cluster") return `cluster ${input.cluster}`;
  if (input.type === "consul") return `consul ${consulKeyText(input.key)}`;
  if (input.type !== "object") throw new TypeError(`a registry of several parts gave a change of type ${input.type}`);
  const { kind, namespace, name } = input.op === "put" ? objectKey(input.object) : input.key;
  return `${input.cluster ?? ""} ${kind}/${namespace}/${name}`;
}
