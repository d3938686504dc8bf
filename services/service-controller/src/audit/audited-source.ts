/**
 * A source whose word is compared with a fresh list of it, shard by shard, on a timer. A difference that is still the same at a
 * second look is no event under way but a lost one: it is repaired, counted and logged with its age.
 */
import { compareText } from "@flotilla/model";
import type { RegistryInput } from "@flotilla/registry";
import { delay, type Logger, mergeGroups, Wakeup } from "@flotilla/runtime";
import type { InputGroup, InputSource, ShardListing } from "../watch/input-source.ts";
import { countedInput, digestOf, goneInput } from "./shard-of-input.ts";

export interface AuditOptions {
  readonly ownCluster: string;
  /** Between two comparisons. */
  readonly everyMs: number;
  /** Between the two looks of one. */
  readonly settleMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Called with repairs, by shard. */
  readonly onRepair: (shard: string, count: number) => void;
}

interface AuditedShard {
  readonly shard: string;
  readonly objects: number;
  /** Equal when the same objects are held in the same versions, whatever the order in which they came. */
  readonly digest: string;
  /** When it was last equal to the source. */
  readonly agreedAtMs: number | undefined;
  readonly repaired: number;
}

export interface AuditedSource extends InputSource {
  shards(): readonly AuditedShard[];
}

type Lists = (stop: AbortSignal) => Promise<readonly ShardListing[]>;

/** One that cannot be listed is left as it is. */
export function auditedSource(source: InputSource, options: AuditOptions): InputSource | AuditedSource {
  const lists = source.list?.bind(source);
  return lists === undefined ? source : new Audited(source, lists, options);
}

interface Held {
  readonly shard: string;
  readonly digest: string;
  /** As it came, without its content. */
  readonly gone: RegistryInput;
}

/** A difference to the source; `held` as it was when seen. */
interface Difference {
  readonly shard: string;
  readonly held: string | undefined;
  readonly fresh: string | undefined;
  readonly input: RegistryInput;
}

class Audited implements AuditedSource {
  readonly name: string;
  readonly #source: InputSource;
  readonly #lists: Lists;
  readonly #options: AuditOptions;
  readonly #held = new Map<string, Held>();
  readonly #agreedAtMs = new Map<string, number>();
  readonly #repaired = new Map<string, number>();
  readonly #started = new Wakeup();
  #startedAtMs = 0;
  /** The differences that the comparison found, by group. */
  readonly #found = new WeakMap<InputGroup, ReadonlyMap<string, Difference>>();

  constructor(source: InputSource, lists: Lists, options: AuditOptions) {
    this.name = source.name;
    this.#source = source;
    this.#lists = lists;
    this.#options = options;
  }

  async *groups(stop: AbortSignal): AsyncGenerator<InputGroup, void, undefined> {
    const audit = { name: `audit of ${this.name}`, groups: (until: AbortSignal) => this.#audit(until) };
    let unread: readonly string[] = [];
    for await (const { group } of mergeGroups<InputGroup>([this.#source, audit], stop)) {
      const found = this.#found.get(group);
      if (found === undefined) {
        for (const input of group.inputs) this.#note(input);
        if (this.#startedAtMs === 0) this.#startedAtMs = this.#options.nowMs();
        this.#started.wake();
        unread = group.unread ?? [];
        yield group;
        continue;
      }
      const inputs = this.#repairs(found);
      if (inputs.length > 0) yield { inputs, eventTimeMs: group.eventTimeMs, unread };
    }
  }

  shards(): readonly AuditedShard[] {
    const texts = new Map<string, string[]>();
    for (const [text, { shard, digest }] of this.#held) {
      const of = texts.get(shard);
      if (of === undefined) texts.set(shard, [`${text} ${digest}`]);
      else of.push(`${text} ${digest}`);
    }
    return [...texts].map(([shard, all]) => ({
      shard,
      objects: all.length,
      digest: digestOf(all.sort(compareText)),
      agreedAtMs: this.#agreedAtMs.get(shard),
      repaired: this.#repaired.get(shard) ?? 0,
    }));
  }

  problems(): ReturnType<InputSource["problems"]> {
    return this.#source.problems();
  }

  list(stop: AbortSignal): Promise<readonly ShardListing[]> {
    return this.#lists(stop);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#source[Symbol.asyncDispose]();
  }

  #note(input: RegistryInput): void {
    if (input.type === "cluster") {
      for (const [text, { shard }] of this.#held) if (shard === `Kubernetes/${input.cluster}`) this.#held.delete(text);
      return;
    }
    const counted = countedInput(input, this.#options.ownCluster);
    if (counted === undefined) return;
    const { text, shard, digest } = counted;
    if (digest === undefined) this.#held.delete(text);
    else this.#held.set(text, { shard, digest, gone: goneInput(input) });
  }

  async *#audit(stop: AbortSignal): AsyncGenerator<InputGroup, void, undefined> {
    const { everyMs, settleMs, log, nowMs } = this.#options;
    await this.#started.wait(stop);
    while (!stop.aborted) {
      await delay(everyMs, stop);
      if (stop.aborted) return;
      try {
        const first = await this.#differences(stop);
        if (first.size === 0) continue;
        await delay(settleMs, stop);
        if (stop.aborted) return;
        const second = await this.#differences(stop);
        const both = [...second].filter(([text, { held, fresh }]) => {
          const before = first.get(text);
          return before !== undefined && before.held === held && before.fresh === fresh;
        });
        if (both.length === 0) continue;
        const group: InputGroup = { inputs: [], eventTimeMs: nowMs() };
        this.#found.set(group, new Map(both));
        yield group;
      } catch (error) {
        // Unreadable parts are compared the next time; the source itself reports that it is away.
        if (!stop.aborted) log.warn("source not compared", { source: this.name, error });
      }
    }
  }

  async #differences(stop: AbortSignal): Promise<ReadonlyMap<string, Difference>> {
    const differences = new Map<string, Difference>();
    for (const { shard, inputs } of await this.#lists(stop)) {
      const listed = new Set<string>();
      let count = 0;
      const add = (text: string, difference: Difference) => {
        differences.set(text, difference);
        count += 1;
      };
      for (const input of inputs) {
        const { text = "", digest } = countedInput(input, this.#options.ownCluster) ?? {};
        listed.add(text);
        const held = this.#held.get(text)?.digest;
        if (held !== digest) add(text, { shard, held, fresh: digest, input });
      }
      for (const [text, { shard: own, digest, gone }] of this.#held) {
        if (own === shard && !listed.has(text)) add(text, { shard, held: digest, fresh: undefined, input: gone });
      }
      if (count === 0) this.#agreedAtMs.set(shard, this.#options.nowMs());
    }
    return differences;
  }

  /** Those whose held side nothing has changed since. */
  #repairs(found: ReadonlyMap<string, Difference>): readonly RegistryInput[] {
    const { nowMs, log, onRepair } = this.#options;
    const still = [...found].filter(([text, { held }]) => this.#held.get(text)?.digest === held);
    const byShard = new Map<string, string[]>();
    for (const [text, { shard, input }] of still) {
      this.#note(input);
      byShard.set(shard, [...(byShard.get(shard) ?? []), text]);
    }
    for (const [shard, texts] of byShard) {
      const ageMs = nowMs() - (this.#agreedAtMs.get(shard) ?? this.#startedAtMs);
      log.warn("difference from its source repaired", { shard, count: texts.length, ageMs, first: texts[0] });
      this.#repaired.set(shard, (this.#repaired.get(shard) ?? 0) + texts.length);
      onRepair(shard, texts.length);
    }
    return still.map(([, { input }]) => input);
  }
}
