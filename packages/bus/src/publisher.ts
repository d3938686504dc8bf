/**
 * Publishes a controller's state: only what differs from what the stream already holds, so that a
 * restart with nothing changed publishes nothing. One publisher owns the keys it has published.
 */
import { randomUUID } from "node:crypto";
import type { Cause, Change } from "@flotilla/model";
import { type Logger, Turns } from "@flotilla/runtime";
import { type Bus, messageBytes, type OutgoingMessage } from "./bus.ts";
import { digestsOf, topicOf } from "./digest.ts";
import { isDelete, marks, type Prepared, pack, prepare, publisherOf } from "./envelope.ts";
import { BusError } from "./errors.ts";
import { dayMs, forgetDeletes } from "./forget-deletes.ts";
import { HeldChanges } from "./held-changes.ts";
import type { Seal } from "./seal.ts";
import { deleteOf, encodeMarker, filters, keyText, subjectOf, syncSubject } from "./topics.ts";

export interface PublisherOptions {
  readonly bus: Bus;
  /** `config-controller`, `service-controller` … */
  readonly publisher: string;
  readonly seal: Seal | undefined;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** How long deletes are kept for readers that were away; seven days unless given. */
  readonly keepDeletesMs?: number;
  /**
   * Everything that the source has now, as `synchronize` would be given it: asked for when the stream was lost. Without it the
   * publisher remembers each change itself.
   */
  readonly current?: () => readonly Change[];
  /** Told of a change that is too large to travel; what was published of its key before stays in force. */
  readonly onRefused?: (change: Change, reason: string) => void;
}

export interface Occasion {
  /** When the source changed; now, when the source cannot tell. */
  readonly eventTimeMs?: number;
  readonly urgent?: boolean;
  /** Who told the publisher, if it was one source. */
  readonly source?: string;
}

/** What stays although the state does not name it: its source could not be read. */
export interface Kept {
  readonly keep?: (key: Change["key"]) => boolean;
  /** What the stream holds of these stays: the state that is told may be older. */
  readonly isOld?: (key: Change["key"]) => boolean;
}

export interface Publisher {
  /** Place of the last change that was published in the fleet's sequence; 0 before the first. */
  readonly told: number;
  /**
   * The source's whole state: publishes the differences, deletes what this publisher published and
   * the source no longer has, then says that everything is told. Resolves to the number of changes.
   */
  synchronize(state: readonly Change[], occasion?: Occasion & Kept): Promise<number>;
  /** Changes that belong together; equal ones are left out. Resolves to the number published. */
  publish(changes: readonly Change[], occasion?: Occasion): Promise<number>;
  /**
   * Compares what the stream holds of ours with what we told it, publishes what differs, and tells the digests of all, for
   * those who follow to compare. Resolves to the number of differences; before the whole state was told nothing is done.
   */
  attest(): Promise<number>;
  /** Somebody else may have published meanwhile: what the stream holds is read again before more is said. */
  retire(): Promise<void>;
}

/** What headers add to a payload, at most. */
const headerBytes = 2_048;

export function createPublisher(options: PublisherOptions): Publisher {
  return new KeyedPublisher(options);
}

class KeyedPublisher implements Publisher {
  readonly #options: PublisherOptions;
  readonly #epoch = randomUUID();
  #held: HeldChanges;
  #told = 0;
  /** Topics that we have ever told something of. */
  readonly #topics = new Set<string>();
  #state: "unread" | "read" | "told" = "unread";
  #isMarked = false;
  #revision = 0;
  #sweptAtMs = 0;
  /** What is compared with is what was sent before. */
  readonly #turns = new Turns();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#held = new HeldChanges(options.current);
    options.bus.onEpoch(
      () => void this.#turns.take(() => this.#tellAgain()).catch((error) => this.#onTellingFailed(error)),
    );
  }

  get told(): number {
    return this.#told;
  }

  synchronize(state: readonly Change[], occasion?: Occasion & Kept): Promise<number> {
    return this.#turns.take(() => this.#synchronize(state, occasion));
  }

  publish(changes: readonly Change[], occasion?: Occasion): Promise<number> {
    return this.#turns.take(() => this.#publish(changes, occasion));
  }

  attest(): Promise<number> {
    return this.#turns.take(() => this.#attest());
  }

  retire(): Promise<void> {
    return this.#turns.take(async () => {
      this.#forget();
    });
  }

  async #synchronize(state: readonly Change[], occasion: (Occasion & Kept) | undefined): Promise<number> {
    await this.#read();
    const subjects = new Set(state.map(subjectOf));
    const fresh = state.filter(
      (change) => occasion?.isOld?.(change.key) !== true || !this.#held.has(subjectOf(change)),
    );
    const vanished = this.#held.subjects
      .filter((subject) => !subjects.has(subject))
      .flatMap((s) => deleteOf(s) ?? [])
      .filter(({ key }) => occasion?.keep?.(key) !== true);
    const count = await this.#publish([...fresh, ...vanished], occasion);
    if (!this.#isMarked || count > 0) await this.#mark();
    this.#state = "told";
    return count;
  }

  async #publish(changes: readonly Change[], { eventTimeMs, urgent = false, source }: Occasion = {}): Promise<number> {
    const { bus, publisher, log, nowMs, seal } = this.#options;
    await this.#read();
    const fresh = changes.map((change) => prepare(change, seal)).filter((prepared) => this.#held.differs(prepared));
    const packed = fresh.flatMap((prepared) => this.#pack(prepared) ?? []);
    if (packed.length === 0) return 0;
    const revision = ++this.#revision;
    const epoch = this.#epoch;
    const cause: Cause = {
      ...{ publisher, epoch, revision, eventTimeMs: eventTimeMs ?? nowMs() },
      ...(source !== undefined && { source }),
      ...(urgent && { urgent }),
    };
    const sizes = countTopics(packed);
    const messages = packed.map(({ prepared, payload, headers }): OutgoingMessage => {
      const sizeInTopic = sizes.get(prepared.change.type) ?? 1;
      const group = { id: `${epoch}/${revision}`, size: packed.length, sizeInTopic };
      return { subject: prepared.subject, payload, headers: { ...headers, ...marks(prepared, cause, group) } };
    });
    const sequences = await bus.publish(messages);
    this.#told = Math.max(this.#told, ...sequences.slice(-1));
    for (const { prepared } of packed) this.#held.remember(prepared);
    log.debug("published", { changes: packed.length, revision, urgent });
    await this.#sweepDaily();
    return packed.length;
  }

  #pack(prepared: Prepared): (Omit<OutgoingMessage, "subject"> & { readonly prepared: Prepared }) | undefined {
    const { bus, log, seal, onRefused } = this.#options;
    const message = { subject: prepared.subject, ...pack(prepared, seal) };
    const bytes = messageBytes(message) + headerBytes;
    if (bytes <= bus.maxMessageBytes) return { prepared, ...message };
    const reason = `${bytes} bytes are more than the bus takes, ${bus.maxMessageBytes}`;
    log.error("a change is too large to travel, what was published before stays", {
      key: keyText(prepared.change),
      reason,
    });
    onRefused?.(prepared.change, reason);
    return undefined;
  }

  async #attest(): Promise<number> {
    if (this.#state !== "told") return 0;
    const told = this.#forget();
    await this.#read();
    const lost = this.#held.missingOf(told);
    const strange = this.#held.subjects.filter((subject) => !told.has(subject)).flatMap((s) => deleteOf(s) ?? []);
    const count = await this.#publish([...lost, ...strange]);
    await this.#mark();
    this.#state = "told";
    return count;
  }

  /** What the stream holds is not known any more; returns what was known. */
  #forget(): HeldChanges {
    const before = this.#held;
    this.#held = new HeldChanges(this.#options.current);
    this.#state = "unread";
    return before;
  }

  async #mark(): Promise<void> {
    const { bus, publisher } = this.#options;
    for (const subject of this.#held.subjects) this.#topics.add(topicOf(subject));
    const payload = encodeMarker({
      publisher,
      epoch: this.#epoch,
      digests: digestsOf(this.#held.states(), this.#topics),
    });
    await bus.publish([{ subject: syncSubject(publisher), payload }]);
    this.#isMarked = true;
  }

  async #read(): Promise<void> {
    if (this.#state !== "unread") return;
    const { bus, publisher, nowMs } = this.#options;
    const messages = await bus.lastValues(filters.everything);
    for (const message of messages.filter((one) => publisherOf(one) === publisher && !isDelete(one)))
      this.#held.read(message);
    this.#isMarked = messages.some(({ subject }) => subject === syncSubject(publisher));
    this.#state = "read";
    this.#sweptAtMs = nowMs();
    await forgetDeletes(this.#options, messages);
  }

  async #sweepDaily(): Promise<void> {
    const { bus, nowMs } = this.#options;
    if (nowMs() - this.#sweptAtMs < dayMs) return;
    this.#sweptAtMs = nowMs();
    await forgetDeletes(this.#options, await bus.lastValues(filters.everything));
  }

  /** The stream was lost: what we told it stands nowhere else. */
  async #tellAgain(): Promise<void> {
    const wasTold = this.#state === "told";
    const state = this.#forget().changes();
    if (!wasTold) return;
    const count = await this.#synchronize(state, undefined);
    this.#options.log.warn("the stream was lost, everything is told again", { changes: count });
  }

  #onTellingFailed(error: unknown): void {
    if (error instanceof BusError && error.code === "BUS_CLOSED") return;
    this.#options.log.error("the stream was lost and cannot be told everything again", { error });
  }
}

function countTopics(packed: readonly { readonly prepared: Prepared }[]): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { prepared } of packed) sizes.set(prepared.change.type, (sizes.get(prepared.change.type) ?? 0) + 1);
  return sizes;
}
