/**
 * Compares what the stream holds of a publisher with what it published. Reading everything costs the more the larger the mesh is, so that most
 * comparisons read only what was stored since the last one and count the rest: a value can change only by a message behind that position, and
 * go only by lowering the count (docs/decisions/0475-comparisons-read-what-is-new.md).
 */
import type { Bus, StoredMessage } from "./bus.ts";
import { dayMs, type ForgetDeletesOptions, forgetDeletes } from "./forget-deletes.ts";
import { type HeldChanges, type Remembered, readPublished } from "./held-changes.ts";
import type { Seal } from "./seal.ts";
import { filters as allFilters, filtersOf, syncSubject } from "./topics.ts";

/** The stream, and whose values in it are compared. */
export interface StreamComparisonOptions extends ForgetDeletesOptions {
  readonly bus: Bus;
  readonly seal: Seal | undefined;
}

/** Values that a comparison has read. */
export interface Reading {
  /** All values, or only those that were stored since the last comparison. */
  readonly extent: "all" | "new";
  readonly subjects: ReadonlySet<string>;
  /** Fingerprints of the publisher's own values among them, by subject. */
  readonly stored: ReadonlyMap<string, string>;
  /** Subjects that were published since reading began; they are left to the next comparison. */
  readonly sent: ReadonlySet<string>;
  /** Everything up to here was read, now or before. */
  readonly position: number;
  readonly filters: readonly string[];
}

/** The stream as the last comparison left it. */
interface Compared extends Pick<Reading, "position" | "filters"> {
  /** Position of the marker that was published then: another history of the stream has another message there. */
  readonly marker: number;
}

/** One comparison in this many reads everything, whatever the counts are: it also finds values that a server damaged in place. */
const everyAll = 10;

/** The comparisons of one publisher, and the state of the stream that they leave to the next. */
export class StreamComparison {
  readonly #options: StreamComparisonOptions;
  /** Undefined: the next comparison reads everything. */
  #compared: Compared | undefined;
  #newSinceAll = 0;
  /** Subjects in the stream that hold no value of ours: our deletes, and values of others on our topics. */
  #others = new Set<string>();
  /** Subjects that were published since the present reading began. */
  #sent: Set<string> | undefined;
  #isInDoubt = false;

  #forgotAtMs: number;

  constructor(options: StreamComparisonOptions) {
    this.#options = options;
    this.#forgotAtMs = options.nowMs();
  }

  /** The stream may have changed without us: the next comparison reads everything. */
  distrust(): void {
    this.#compared = undefined;
    this.#isInDoubt = true;
  }

  noteSent({ subject, change }: Pick<Remembered, "subject" | "change">): void {
    this.#sent?.add(subject);
    if (change.op === "delete") this.#others.add(subject);
    else this.#others.delete(subject);
  }

  /** Forgets old deletes once a day, for publishers that compare nothing. */
  async forgetDaily(): Promise<void> {
    const { bus, nowMs } = this.#options;
    if (nowMs() - this.#forgotAtMs < dayMs) return;
    this.#forgotAtMs = nowMs();
    await this.#forgetDeletes(await bus.lastValues(allFilters.everything));
  }

  /** Reads at a limited rate, while changes go on being published. */
  async read(topics: ReadonlySet<string>, extent: Reading["extent"]): Promise<Reading | undefined> {
    const { bus, publisher, seal } = this.#options;
    const filters = filtersOf(topics);
    const from = extent === "new" ? await this.#startOf(filters) : 0;
    if (from === undefined) return undefined;
    const sent = new Set<string>();
    [this.#sent, this.#isInDoubt] = [sent, false];
    // Asked for before reading: a value of meanwhile is read again the next time, rather than not at all.
    const position = Math.max(from, ...(await Promise.all(filters.map((filter) => bus.lastSequence(filter)))));
    const stored = new Map<string, string>();
    const onHeld = (subject: string, fingerprint: string) => void stored.set(subject, fingerprint);
    const isUnchanged = extent === "new" && position === from;
    const messages: readonly StoredMessage[] = isUnchanged
      ? []
      : await readPublished({ bus, publisher, seal, topics, topicsAfter: from }, onHeld);
    const subjects = new Set(messages.map(({ subject }) => subject));
    for (const subject of await this.#forgetDeletes(messages)) subjects.delete(subject);
    return { extent, subjects, stored, sent, position, filters };
  }

  /**
   * True where all that was not read stands as it was: nothing was removed. Nothing may be published meanwhile, as the count is that
   * of one moment.
   */
  async isComplete({ extent, subjects, sent, filters }: Reading, held: HeldChanges): Promise<boolean> {
    if (extent === "all") return true;
    let expected = held.size + this.#others.size;
    for (const subject of subjects)
      if (!sent.has(subject) && !held.has(subject) && !this.#others.has(subject)) expected++;
    const counts = await Promise.all(filters.map((filter) => this.#options.bus.count(filter)));
    const count = counts.reduce((sum, one) => sum + one, 0);
    if (count === expected) return true;
    this.#options.log.debug("unexpected number of values in the stream, all are compared", { count, expected });
    return false;
  }

  /** Takes over which subjects hold no value of ours. */
  take({ extent, subjects, stored, sent }: Reading): void {
    const known = this.#others;
    this.#sent = undefined;
    if (extent === "all") this.#others = new Set([...sent].filter((subject) => known.has(subject)));
    for (const subject of subjects) {
      if (sent.has(subject)) continue;
      if (stored.has(subject)) this.#others.delete(subject);
      else this.#others.add(subject);
    }
  }

  /** @param marker position of the marker that ended the comparison */
  end({ extent, position, filters }: Reading, marker: number): void {
    this.#newSinceAll = extent === "all" ? 0 : this.#newSinceAll + 1;
    if (!this.#isInDoubt) this.#compared = { position, filters, marker };
  }

  async #forgetDeletes(messages: readonly StoredMessage[]): Promise<readonly string[]> {
    const subjects = await forgetDeletes(this.#options, messages);
    for (const subject of subjects) this.#others.delete(subject);
    return subjects;
  }

  /** The position behind which messages are new; undefined when everything must be read. */
  async #startOf(filters: readonly string[]): Promise<number | undefined> {
    const { bus, publisher } = this.#options;
    const compared = this.#compared;
    if (compared === undefined || this.#newSinceAll + 1 >= everyAll) return undefined;
    if (compared.filters.join() !== filters.join()) return undefined;
    if ((await bus.lastSequence(syncSubject(publisher))) === compared.marker) return compared.position;
    this.#options.log.debug("marker in the stream is not the last one published, all values are compared");
    return undefined;
  }
}
