/**
 * Keeps each generation of the configuration as the fleet has seen it, for a bounded history, and reads them back: the
 * present state with what came later taken back.
 */
import { type Cause, type Config, type ConfigKey, type ConfigKeyText, configKeyText } from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";
import { ConfigError } from "../errors.ts";
import type { DeletedObject, GenerationChange, PublishedConfig, PublishedObject } from "../follow/published-config.ts";
import { type LedgerChange, type LedgerContent, type LedgerRecord, recordsOf, secretContent } from "./ledger-record.ts";
import type { LedgerRing, RecordSummary } from "./ledger-ring.ts";

export interface LedgerOptions {
  readonly published: PublishedConfig;
  /** The largest record that can be written. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/** Changes between two generations, by key: the content in the first and in the second. */
export type Changed = ReadonlyMap<ConfigKeyText, { readonly before: LedgerContent; readonly after: LedgerContent }>;

/** Objects present when following begins, until it is clear which of them were kept. */
interface Baseline {
  readonly position: number;
  readonly epoch: string;
  readonly present: readonly Known[];
  readonly deleted: readonly DeletedObject[];
}
type Known = Omit<PublishedObject, "config">;

const retryMs = 1_000;

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #wakeup = new Wakeup();
  /** Absent until its bucket could be opened. */
  #ring: LedgerRing | undefined;
  #baseline: Baseline | undefined;
  #pending: Omit<LedgerRecord, "number">[] = [];

  constructor(options: LedgerOptions) {
    this.#options = options;
    const { published, maxBytes } = options;
    published.listen({
      onBaseline: (deleted) => this.#begin(deleted),
      onGeneration: (generation) => this.#add(recordsOf(generation, published.epoch, maxBytes)),
    });
  }

  /** Writes what comes, until `stop` fires. @param ring what is kept has been loaded */
  async keepIn(ring: LedgerRing, stop: AbortSignal): Promise<void> {
    const { log } = this.#options;
    this.#ring = ring;
    this.#catchUp(ring);
    while (!stop.aborted) {
      try {
        for (let next = this.#pending[0]; next !== undefined && !stop.aborted; next = this.#pending[0]) {
          if (isKept(next, ring.last) || (await ring.append(next))) this.#done(next);
        }
        await this.#wakeup.wait(stop);
      } catch (error) {
        if (stop.aborted) return;
        log.warn("generation not saved yet, trying again", { position: this.#pending[0]?.position, error });
        await delay(retryMs, stop);
      }
    }
  }

  /** Of this sequence, oldest first. Generations before the first cannot be read back. */
  history(): readonly RecordSummary[] {
    const { published } = this.#options;
    return this.#ring?.summaries().filter(({ epoch }) => epoch === published.epoch) ?? [];
  }

  /**
   * Differences between the generations: everything that changed after `from`, up to and with `to`.
   * @throws ConfigError CONFIG_NOT_KEPT when the history does not reach back so far
   */
  async between(from: number, to: number): Promise<Changed> {
    const [first, last] = from <= to ? [from, to] : [to, from];
    this.#expectKept(last);
    const changed = new Map<ConfigKeyText, { before: LedgerContent; after: LedgerContent }>();
    const records = await this.#recordsAfter(first);
    for (const record of records.filter(({ position }) => position <= last)) {
      for (const { key, before } of record.changes) {
        const text = configKeyText(key);
        if (!changed.has(text)) changed.set(text, { before, after: this.present(key) });
      }
    }
    // How they were in the second: as they were before they changed next.
    const isLater = new Set<ConfigKeyText>();
    for (const record of records.filter(({ position }) => position > last)) {
      for (const { key, before } of record.changes) {
        const text = configKeyText(key);
        const found = changed.get(text);
        if (found === undefined || isLater.has(text)) continue;
        isLater.add(text);
        found.after = before;
      }
    }
    if (from <= to) return changed;
    return new Map([...changed].map(([text, { before, after }]) => [text, { before: after, after: before }]));
  }

  /** The configuration as it was, in order of key. @throws ConfigError CONFIG_NOT_KEPT when the history does not reach back so far */
  async at(position: number): Promise<ReadonlyMap<ConfigKeyText, LedgerContent>> {
    const { published } = this.#options;
    const records = await this.#recordsAfter(position);
    const state = new Map<ConfigKeyText, LedgerContent>();
    for (const { key, config } of published.all()) state.set(configKeyText(key), shown(key, config));
    for (const { changes } of [...records].reverse()) {
      for (const { key, before } of changes) {
        if (before === null) state.delete(configKeyText(key));
        else state.set(configKeyText(key), before);
      }
    }
    return new Map([...state].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** As it is shown now: null where there is none. */
  present(key: ConfigKey): LedgerContent {
    return shown(key, this.#options.published.get(key)?.config);
  }

  /** Oldest first, up to the present state, unwritten ones included. */
  async #recordsAfter(position: number): Promise<readonly Omit<LedgerRecord, "number">[]> {
    this.#expectKept(position);
    const ring = this.#ring;
    const found: Omit<LedgerRecord, "number">[] = [];
    let read = 0;
    // More may come while these are read.
    for (;;) {
      const fresh = this.history().filter((summary) => summary.position > position && summary.number > read);
      if (fresh.length === 0) break;
      for (const summary of fresh) {
        const record = await ring?.read(summary);
        if (record === undefined)
          throw new ConfigError("CONFIG_NOT_KEPT", `generation ${position} is not kept any more`);
        found.push(record);
        read = record.number;
      }
    }
    const unwritten = this.#pending.filter((record) => record.position > position && !isKept(record, ring?.last));
    return [...found, ...unwritten];
  }

  #expectKept(position: number): void {
    const newest = this.#options.published.position;
    const oldest = this.history()[0]?.position ?? newest;
    if (position >= oldest && position <= newest) return;
    throw new ConfigError(
      "CONFIG_NOT_KEPT",
      `generation ${position} is not kept, those from ${oldest} to ${newest} are`,
    );
  }

  /** Following may have begun anew meanwhile: then it is not there. */
  #done(record: Omit<LedgerRecord, "number">): void {
    const at = this.#pending.indexOf(record);
    if (at !== -1) this.#pending.splice(at, 1);
  }

  #add(records: readonly Omit<LedgerRecord, "number">[]): void {
    this.#pending.push(...records);
    this.#wakeup.wake();
  }

  /** Following begins: earlier states are computed from the present one. */
  #begin(deleted: readonly DeletedObject[]): void {
    const { position, epoch } = this.#options.published;
    this.#pending = [];
    this.#baseline = { position, epoch, present: [...this.#options.published.changedAfter(0)], deleted };
    if (this.#ring !== undefined) this.#catchUp(this.#ring);
  }

  /** Changes since the last record form one generation, whose objects have known contents after it but not before it. */
  #catchUp({ last }: LedgerRing): void {
    const { maxBytes } = this.#options;
    if (this.#baseline === undefined) return;
    const { position, epoch, present, deleted } = this.#baseline;
    this.#baseline = undefined;
    if (last?.epoch === epoch && last.position >= position) return;
    // A history that begins here needs nothing but its place.
    const since = last?.epoch === epoch ? last.position : Number.POSITIVE_INFINITY;
    const fresh = [...present, ...deleted].filter((object) => object.position > since);
    const gone = new Set(deleted.map(({ key }) => key));
    const { cause } = fresh.reduce<{ readonly cause: Cause; readonly position: number }>(
      (latest, object) => (object.position > latest.position ? object : latest),
      { cause: unknownCause, position: 0 },
    );
    const changes = fresh.map(
      ({ key }): GenerationChange => ({ key, before: undefined, after: undefined, beforeLength: 0 }),
    );
    const records = recordsOf({ position, cause, changes }, epoch, maxBytes);
    const asUnseen = ({ key }: LedgerChange): LedgerChange => ({
      key,
      op: gone.has(key) ? "deleted" : "changed",
      before: { withheld: "it changed while no replica recorded the history" },
    });
    const unknown = records.map((record) => ({ ...record, changes: record.changes.map(asUnseen) }));
    // Before what came while the history was not open yet.
    this.#pending.unshift(
      ...(unknown.length > 0 ? unknown : [{ epoch, position, part: 0, parts: 1, cause, changes: [] }]),
    );
    this.#wakeup.wake();
  }
}

const unknownCause: Cause = { publisher: "config-controller", epoch: "", revision: 0, eventTimeMs: 0 };

function shown(key: ConfigKey, config: Config | undefined): LedgerContent {
  if (config === undefined) return null;
  return key.kind === "Secret" ? secretContent : config;
}

/** True where it, or something later, has been kept, maybe by another replica. */
function isKept({ epoch, position, part }: Omit<LedgerRecord, "number">, last: RecordSummary | undefined): boolean {
  if (last?.epoch !== epoch) return false;
  return last.position > position || (last.position === position && last.part >= part);
}
