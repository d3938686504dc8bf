/**
 * Publishes a controller's state: only what differs from what the stream already holds, so that a
 * restart with nothing changed publishes nothing. One publisher owns the keys it has published.
 */
import { randomUUID } from "node:crypto";
import type { Cause, Change } from "@flotilla/model";
import { TimeSlice, Turns } from "@flotilla/runtime";
import { type Prepared, pack, prepare } from "./envelope.ts";
import { BusError } from "./errors.ts";
import { forgetDeletes } from "./forget-deletes.ts";
import { groupMessages, HeldChanges, type Packed, type Remembered, readPublished, whyRefused } from "./held-changes.ts";
import type { Kept, Publisher, PublisherOptions, PublishOptions } from "./publisher.ts";
import { type Reading, StreamComparison } from "./stream-comparison.ts";
import { deleteOf, digestsOf, encodeMarker, keyText, subjectOf, syncSubject, topicOf } from "./topics.ts";

const maxLoggedKey = 300;
const namedKeys = 20;

/** Creates a publisher. It reads from the stream what it published before, when it is first used. */
export function createPublisher(options: PublisherOptions): Publisher {
  return new KeyedPublisher(options);
}

class KeyedPublisher implements Publisher {
  readonly #options: PublisherOptions;
  readonly #epoch = randomUUID();
  #held: HeldChanges;
  lastSequence = 0;
  /** Topics that we have ever published to. */
  readonly #topics = new Set<string>();
  #state: "unread" | "read" | "synchronized" = "unread";
  #isMarked = false;
  #revision = 0;
  #comparison: StreamComparison;
  /** Serializes calls: each compares with the values sent before it. */
  readonly #turns = new Turns();

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#held = new HeldChanges(options.current);
    this.#comparison = new StreamComparison(options);
    // Servers that were away may have lost what they had acknowledged.
    options.bus.onState(() => this.#comparison.distrust());
    options.bus.onEpoch(
      () => void this.#turns.take(() => this.#republish()).catch((error) => this.#onRepublishFailed(error)),
    );
  }

  get openCalls(): number {
    return this.#turns.open;
  }

  synchronize(state: Iterable<Change>, options?: PublishOptions & Kept): Promise<number> {
    return this.#turns.take(() => this.#synchronize(state, options));
  }

  publish(changes: readonly Change[], options?: PublishOptions): Promise<number> {
    return this.#turns.take(() => this.#publish(changes, options));
  }

  prune(isThere: (key: Change["key"]) => boolean): Promise<number> {
    return this.#turns.take(() => this.#prune(isThere));
  }

  retire(): Promise<void> {
    return this.#turns.take(async () => {
      this.#forget();
    });
  }

  async #synchronize(state: Iterable<Change>, options: (PublishOptions & Kept) | undefined): Promise<number> {
    await this.#read();
    const vanished = new Set(this.#held.subjects);
    const isOld = (change: Change) => options?.isOld?.(change.key) === true && this.#held.has(subjectOf(change));
    const fresh = await this.#differing(state, (change) => {
      vanished.delete(subjectOf(change));
      return !isOld(change);
    });
    const deletes = [...vanished].flatMap((subject) => deleteOf(subject) ?? []);
    const gone = await this.#differing(deletes, ({ key }) => options?.keep?.(key) !== true);
    const count = await this.#send([...fresh, ...gone], options);
    if (!this.#isMarked || count > 0) await this.#mark();
    this.#state = "synchronized";
    return count;
  }

  async #prune(isThere: (key: Change["key"]) => boolean): Promise<number> {
    await this.#read();
    const deletes = this.#held.subjects.flatMap((subject) => deleteOf(subject) ?? []);
    const count = await this.#send(await this.#differing(deletes, ({ key }) => !isThere(key)));
    if (count > 0) await this.#mark();
    return count;
  }

  async #publish(changes: readonly Change[], options?: PublishOptions): Promise<number> {
    await this.#read();
    return this.#send(await this.#differing(changes), options);
  }

  /** Wanted changes that differ from the stream, encoded. */
  async #differing(
    changes: Iterable<Change>,
    isWanted: (change: Change) => boolean = () => true,
  ): Promise<readonly Packed[]> {
    const { seal } = this.#options;
    const timeSlice = new TimeSlice();
    const found: Packed[] = [];
    for (const change of changes) {
      const prepared = isWanted(change) ? prepare(change, seal) : undefined;
      if (timeSlice.isDue) await timeSlice.yield();
      const packed = prepared && this.#held.differs(prepared) ? this.#pack(prepared) : undefined;
      if (packed !== undefined) found.push(packed);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    return found;
  }

  async #send(
    packed: readonly Packed[],
    { eventTimeMs, urgent = false, source, caller }: PublishOptions = {},
  ): Promise<number> {
    const { bus, publisher, log, nowMs } = this.#options;
    if (packed.length === 0) return 0;
    const revision = ++this.#revision;
    const cause: Cause = {
      ...{ publisher, epoch: this.#epoch, revision, eventTimeMs: eventTimeMs ?? nowMs() },
      ...(source !== undefined && { source }),
      ...(caller !== undefined && { caller }),
      ...(urgent && { urgent }),
    };
    const sequences = await bus.publish(groupMessages(packed, cause));
    this.lastSequence = Math.max(this.lastSequence, ...sequences.slice(-1));
    for (const { remembered } of packed) {
      this.#held.remember(remembered);
      this.#comparison.noteSent(remembered);
      this.#topics.add(topicOf(remembered.subject));
    }
    this.#options.onPublished?.(
      packed.map(({ remembered }) => remembered.change),
      cause,
    );
    log.debug("published", { changes: packed.length, revision, urgent });
    await this.#comparison.forgetDaily();
    return packed.length;
  }

  #pack(prepared: Prepared): Packed | undefined {
    const { bus, log, seal, onRefused } = this.#options;
    const { change, subject, fingerprint, plain } = prepared;
    const message = { subject, ...pack(prepared, seal) };
    const reason = whyRefused(message, plain.length, bus.maxMessageBytes);
    if (reason === undefined)
      return { remembered: { change: this.#remembered(change), subject, fingerprint }, ...message };
    log.error("change too large for the bus, the value published before stays", {
      key: keyText(change).slice(0, maxLoggedKey),
      reason,
    });
    onRefused?.(change, reason);
    return undefined;
  }

  /** Ten thousand objects that wait to be sent are not held beside their messages. */
  #remembered(change: Change): Remembered["change"] {
    return this.#held.keepsChanges ? change : { type: change.type, op: change.op };
  }

  async attest(): Promise<number> {
    if (this.#state !== "synchronized") return 0;
    return (await this.#compare("new")) ?? (await this.#compare("all")) ?? 0;
  }

  /** The stream is read while changes go on being published. Undefined when that was not enough to find every difference. */
  async #compare(extent: Reading["extent"]): Promise<number | undefined> {
    const [held, comparison] = [this.#held, this.#comparison];
    for (const topic of Object.keys(held.digests())) this.#topics.add(topic);
    const reading = await comparison.read(this.#topics, extent);
    if (reading === undefined) return undefined;
    return this.#turns.take(async () => {
      // Somebody else may have published, or the stream was lost: then it was read anew.
      if (held !== this.#held) return 0;
      if (!(await comparison.isComplete(reading, held))) return undefined;
      comparison.take(reading);
      const count = await this.#publishLost(reading);
      comparison.end(reading, await this.#mark());
      return count;
    });
  }

  async #publishLost({ stored, sent, subjects, extent }: Reading): Promise<number> {
    const lost = this.#held.correct(stored, sent, extent === "all" ? undefined : subjects);
    if (lost.length === 0) return 0;
    const keys = lost.slice(0, namedKeys).map((change) => keyText(change).slice(0, maxLoggedKey));
    this.#options.log.warn("published values missing on the bus", { count: lost.length, keys });
    return this.#publish(lost);
  }

  /** Marks the state of the stream as unread; returns the state until now. */
  #forget(): HeldChanges {
    const before = this.#held;
    this.#held = new HeldChanges(this.#options.current);
    this.#comparison = new StreamComparison(this.#options);
    this.#state = "unread";
    return before;
  }

  /** Resolves to the marker's position. */
  async #mark(): Promise<number> {
    const { bus, publisher } = this.#options;
    const held = this.#held.digests();
    for (const topic of Object.keys(held)) this.#topics.add(topic);
    const digests = { ...digestsOf([], this.#topics), ...held };
    const payload = encodeMarker({ publisher, epoch: this.#epoch, digests });
    const [position = 0] = await bus.publish([{ subject: syncSubject(publisher), payload }]);
    this.#isMarked = true;
    return position;
  }

  async #read(): Promise<void> {
    if (this.#state !== "unread") return;
    const messages = await readPublished({ ...this.#options, topics: this.#topics }, (subject, fingerprint) =>
      this.#held.read(subject, fingerprint),
    );
    this.#isMarked = messages.some(({ subject }) => subject === syncSubject(this.#options.publisher));
    this.#state = "read";
    await forgetDeletes(this.#options, messages);
  }

  /** The stream was lost: what we published is stored nowhere else. */
  async #republish(): Promise<void> {
    const wasPublished = this.#state === "synchronized";
    const state = this.#forget().changes();
    if (!wasPublished) return;
    const count = await this.#synchronize(state, undefined);
    this.#options.log.warn("stream lost, everything is published again", { changes: count });
  }

  #onRepublishFailed(error: unknown): void {
    if (error instanceof BusError && error.code === "BUS_CLOSED") return;
    this.#options.log.error("stream lost, and publishing everything again failed", { error });
  }
}
