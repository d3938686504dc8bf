/** The bus over NATS JetStream: one stream for the fleet, the last message of each subject kept. */
import { delay, type Logger, orAborted } from "@flotilla/runtime";
import type { JetStreamClient, JetStreamManager } from "nats";
import type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, ReadOptions, StoredMessage } from "./bus.ts";
import { horizonSubject, type Mark, type MarkedPlace, markText, type ReadPlace, readMark, whyReset } from "./bus.ts";
import { BusError } from "./errors.ts";
import { lastSequence } from "./jetstream.ts";
import type { KeyValue, KeyValueOptions } from "./key-value.ts";
import { JetStreamSender } from "./message-sender.ts";
import { closeConnection, connectUntilAborted, retryUntilAborted } from "./nats-connection.ts";
import { openNatsKeyValue } from "./nats-key-value.ts";
import { NatsLink } from "./nats-link.ts";
import { type NatsConnectOptions, retryMs } from "./nats-options.ts";
import { NatsPublishing } from "./nats-publishing.ts";
import {
  countOf,
  horizonOf,
  markedPlace,
  openStream,
  removeMessage,
  type StreamLook,
  streamName,
} from "./nats-stream.ts";
import { deliveries } from "./ordered-consumer.ts";
import { ReadWindow } from "./read-window.ts";
import type { SetAside } from "./set-aside.ts";

/** Connection, clock and replicas of a bus over NATS. */
export interface NatsOptions extends NatsConnectOptions {
  readonly nowMs: () => number;
  /** Copies of streams and buckets in a cluster of servers, at least. */
  readonly replicas: number;
  readonly onResumed: () => void;
  readonly setAside: SetAside;
}

/** Waits for the servers when they are away, and logs it; never gives up unless `stop` fires. */
export async function connectNats(options: NatsOptions, stop: AbortSignal): Promise<Bus> {
  const connection = await connectUntilAborted(options, stop);
  try {
    const open = async () => {
      const manager = await connection.jetstreamManager();
      return new NatsLink({ ...options, connection, manager }, await openStream({ ...options, manager }));
    };
    const link = await retryUntilAborted(open, { what: "jetstream", log: options.log }, stop);
    return new NatsBus(link, connection.jetstream(), options);
  } catch (error) {
    await closeConnection(connection);
    throw error;
  }
}

/** Where a follower is, and the server that it read from. */
interface Following extends ReadPlace {
  readonly server: string | undefined;
  readonly filters: readonly string[];
  readonly window: ReadWindow;
}

/** Of a stream that has been read to its end; its last message may be on a subject that is not followed. */
function markAtEnd(mark: Mark | undefined, sequence: number, { last, lastStoredAtMs }: StreamLook): Mark | undefined {
  return sequence === last && mark?.sequence !== last ? { sequence, storedAtMs: lastStoredAtMs } : mark;
}

class NatsBus implements Bus {
  readonly #link: NatsLink;
  readonly #client: JetStreamClient;
  readonly #publishing: NatsPublishing;
  readonly #replicas: number;
  readonly #onResumed: () => void;
  readonly #log: Logger;
  readonly setAside: SetAside;
  #mark: Mark | undefined;

  constructor(link: NatsLink, client: JetStreamClient, { replicas, onResumed, log, setAside }: NatsOptions) {
    this.#link = link;
    this.#client = client;
    this.#publishing = new NatsPublishing(link, new JetStreamSender(link.connection), log);
    this.#replicas = replicas;
    this.#onResumed = onResumed;
    this.#log = log;
    this.setAside = setAside;
  }

  get state(): BusState {
    return this.#link.state;
  }

  get epoch(): string {
    return this.#link.epoch;
  }

  get mark(): string | undefined {
    return this.#mark && markText(this.#mark);
  }

  get maxMessageBytes(): number {
    return this.#publishing.maxMessageBytes;
  }

  onState(listener: (state: BusState) => void): () => void {
    return this.#link.onState(listener);
  }

  onEpoch(listener: (epoch: string) => void): () => void {
    return this.#link.onEpoch(listener);
  }

  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    return this.#publishing.publish(messages);
  }

  lastValues(filter: string, options: ReadOptions = {}): Promise<readonly StoredMessage[]> {
    const read = () => this.#readLastValues(filter, options);
    return retryUntilAborted(read, { what: "nats", log: this.#log }, this.#link.closed);
  }

  count(filter: string): Promise<number> {
    return this.#answered((manager) => countOf(manager, filter));
  }

  lastSequence(filter: string): Promise<number> {
    return this.#answered((manager) => lastSequence(manager, streamName, [filter]));
  }

  async *follow(options: FollowOptions, stop: AbortSignal): AsyncGenerator<BusItem> {
    const { filters, afterSequence, epoch } = options;
    const until = AbortSignal.any([stop, this.#link.closed]);
    const window = new ReadWindow(afterSequence === 0);
    const from = { position: afterSequence, epoch, mark: readMark(options.mark) };
    let at: Following = { ...from, server: undefined, filters, window };
    let isCaughtUp = false;
    while (!until.aborted) {
      const { position } = at;
      try {
        await this.#link.whenBack(until);
        const { server, lost } = this.#link;
        const look = await orAborted(this.#link.look(), lost);
        const marked = await orAborted(this.#markedPlace(at, look.last, server), lost);
        const reason = whyReset(at, { ...look, marked });
        at = { ...at, epoch: look.epoch, server };
        if (reason !== undefined) {
          [at, isCaughtUp, this.#mark] = [{ ...at, position: 0, mark: undefined }, false, undefined];
          window.clear();
          yield { kind: "reset", reason, epoch: look.epoch };
        }
        for await (const item of this.#consume(filters, at.position, look, isCaughtUp, until)) {
          if (item.kind === "message") {
            at = { ...at, position: item.message.sequence, mark: item.message };
            window.add(item.message);
          } else if (item.kind === "caught-up") {
            isCaughtUp = true;
            at = { ...at, position: item.sequence, mark: markAtEnd(at.mark, item.sequence, look) };
          }
          this.#noteMark(at.mark);
          yield item;
        }
        await delay(retryMs / 5, until);
        this.#onResumed();
      } catch (error) {
        if (until.aborted) return;
        this.#log.warn("following is interrupted, trying again", { position, error });
        await delay(retryMs, until);
        this.#onResumed();
      }
    }
  }

  async forget(sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    const { manager } = this.#link;
    const horizon = Math.max(await this.#link.request(() => horizonOf(manager)), ...sequences);
    // First the mark, then the removal: a reader in between begins again without need, never too late.
    await this.publish([{ subject: horizonSubject, payload: new TextEncoder().encode(String(horizon)) }]);
    for (const sequence of sequences) await this.#link.request(() => removeMessage(manager, sequence));
  }

  keyValue(bucket: string, options: KeyValueOptions = {}): Promise<KeyValue> {
    const parts = { link: this.#link, client: this.#client, replicas: this.#replicas, log: this.#log };
    return openNatsKeyValue(bucket, options, { ...parts, setAside: this.setAside });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#link.close();
  }

  /** Asks again until the servers answer. */
  #answered<T>(ask: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    const request = async () => {
      await this.#link.whenBack();
      return orAborted(ask(this.#link.manager), this.#link.lost);
    };
    return retryUntilAborted(request, { what: "nats", log: this.#log }, this.#link.closed);
  }

  /** One server that has run all the time has all that it had. */
  async #markedPlace(
    { mark, server: before, window, filters, position }: Following,
    last: number,
    server: string | undefined,
  ): Promise<MarkedPlace> {
    const isSame = server !== undefined && server === before;
    if (mark === undefined || isSame || mark.sequence > last) return "same";
    const { manager } = this.#link;
    const place = await markedPlace(manager, mark);
    if (place !== "replaced") return place;
    return (await window.leadsOn(manager, { stream: streamName, filters, position })) ? "same" : "replaced";
  }

  #noteMark(mark: Mark | undefined): void {
    if (mark !== undefined && mark.sequence >= (this.#mark?.sequence ?? 0))
      this.#mark = { sequence: mark.sequence, storedAtMs: mark.storedAtMs };
  }

  async *#consume(
    filters: readonly string[],
    position: number,
    { last, epoch }: { readonly last: number; readonly epoch: string },
    isCaughtUp: boolean,
    stop: AbortSignal,
  ): AsyncGenerator<BusItem> {
    const { connection, manager, lost } = this.#link;
    const options = { connection, manager, stream: streamName, filters, start: position };
    let isWaiting = !isCaughtUp;
    let sequence = Math.max(position, last);
    for await (const item of deliveries(options, AbortSignal.any([stop, lost]))) {
      if (item.kind === "message") {
        sequence = Math.max(sequence, item.message.sequence);
        yield { kind: "message", message: item.message };
      }
      if (!isWaiting || (item.kind !== "idle" && item.pending > 0)) continue;
      isWaiting = false;
      yield { kind: "caught-up", sequence, epoch };
    }
  }

  /** Goes on behind a gap rather than from the start: a line that loses some deliveries of every read would never let one end. */
  async #readLastValues(
    filter: string,
    { isPaced = false, afterSequence = 0 }: ReadOptions,
  ): Promise<readonly StoredMessage[]> {
    await this.#link.whenBack();
    const { connection, manager, lost } = this.#link;
    const found = new Map<string, StoredMessage>();
    let reached = afterSequence;
    while (!lost.aborted) {
      // The stream keeps one message of each subject: those after a sequence are last values, too.
      const start = reached === 0 ? "last-per-subject" : reached;
      for await (const item of deliveries(
        { connection, manager, stream: streamName, filters: [filter], start, isPaced },
        lost,
      )) {
        if (item.kind === "message") {
          found.set(item.message.subject, item.message);
          reached = item.message.sequence;
        }
        if (item.kind !== "idle" && item.pending > 0) continue;
        return [...found.values()].sort((a, b) => a.sequence - b.sequence);
      }
      await delay(retryMs / 5, lost);
    }
    throw new BusError("BUS_CONNECT", `reading ${filter} was interrupted`);
  }
}
