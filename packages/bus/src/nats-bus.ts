/** The bus over NATS JetStream: one stream for the fleet, the last message of each subject kept. */
import { delay, orAborted } from "@flotilla/runtime";
import { Events, headers, type JetStreamClient, type JetStreamManager, type NatsConnection, nuid } from "nats";
import type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, StoredMessage } from "./bus.ts";
import { horizonSubject, messageBytes, whyReset } from "./bus.ts";
import { BusError } from "./errors.ts";
import type { KeyValue, KeyValueOptions } from "./key-value.ts";
import { connectPatiently, type NatsConnectOptions, patiently, retryMs } from "./nats-connection.ts";
import { openNatsKeyValue } from "./nats-key-value.ts";
import { horizonOf, isNotFound, openStream, type StreamLook, streamName } from "./nats-stream.ts";
import { deliveries } from "./ordered-consumer.ts";

export interface NatsOptions extends NatsConnectOptions {
  readonly nowMs: () => number;
  /** Copies of the stream in a cluster of servers. */
  readonly replicas: number;
}

/** What one message may weigh beside its payload and headers. */
const overheadBytes = 1_024;
const publishTimeoutMs = 5_000;
/** Messages under way at once. */
const windowSize = 200;

/** Waits for the servers when they are away, telling so; never gives up unless `stop` fires. */
export async function connectNats(options: NatsOptions, stop: AbortSignal): Promise<Bus> {
  const connection = await connectPatiently(options, stop);
  try {
    const open = async () => {
      const manager = await connection.jetstreamManager();
      return { manager, look: await openStream(manager, options.replicas) };
    };
    const { manager, look } = await patiently(open, { what: "jetstream", log: options.log }, stop);
    return new NatsBus(connection, manager, look, options);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #client: JetStreamClient;
  readonly #options: NatsOptions;
  readonly #stateListeners = new Set<(state: BusState) => void>();
  readonly #epochListeners = new Set<(epoch: string) => void>();
  readonly #closing = new AbortController();
  /** Fires when the connection is lost: what waits for an answer on it need not wait any longer. */
  #lost = new AbortController();
  #back = Promise.withResolvers<void>();
  #state: BusState = { connected: true };
  #epoch: string;
  #publishing: Promise<unknown> = Promise.resolve();

  constructor(connection: NatsConnection, manager: JetStreamManager, { epoch }: StreamLook, options: NatsOptions) {
    this.#connection = connection;
    this.#manager = manager;
    this.#client = connection.jetstream();
    this.#options = options;
    this.#epoch = epoch;
    this.#back.resolve();
    void this.#watchConnection();
  }

  get state(): BusState {
    return this.#state;
  }

  get epoch(): string {
    return this.#epoch;
  }

  get maxMessageBytes(): number {
    return (this.#connection.info?.max_payload ?? 1_048_576) - overheadBytes;
  }

  onState(listener: (state: BusState) => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  onEpoch(listener: (epoch: string) => void): () => void {
    this.#epochListeners.add(listener);
    return () => this.#epochListeners.delete(listener);
  }

  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    // One batch after the other: a batch that is retried must not be overtaken.
    const result = this.#publishing.then(() => this.#publishInOrder(messages));
    this.#publishing = result.catch(() => undefined);
    return result;
  }

  async lastValues(filter: string): Promise<readonly StoredMessage[]> {
    const { log } = this.#options;
    return patiently(() => this.#readLastValues(filter), { what: "nats", log }, this.#closing.signal);
  }

  async *follow({ filters, afterSequence, epoch }: FollowOptions, stop: AbortSignal): AsyncGenerator<BusItem> {
    const until = AbortSignal.any([stop, this.#closing.signal]);
    let [position, known, isCaughtUp] = [afterSequence, epoch, false];
    while (!until.aborted) {
      try {
        await orAborted(this.#back.promise, until);
        const look = await this.#look();
        const reason = whyReset({ position, epoch: known }, look);
        known = look.epoch;
        if (reason !== undefined) {
          [position, isCaughtUp] = [0, false];
          yield { kind: "reset", reason, epoch: look.epoch };
        }
        for await (const item of this.#consume(filters, position, look, isCaughtUp, until)) {
          if (item.kind === "message") position = item.message.sequence;
          else if (item.kind === "caught-up") [position, isCaughtUp] = [item.sequence, true];
          yield item;
        }
        await delay(retryMs / 5, until);
      } catch (error) {
        if (until.aborted) return;
        this.#options.log.warn("following is interrupted, trying again", { position, error });
        await delay(retryMs, until);
      }
    }
  }

  async forget(sequences: readonly number[]): Promise<void> {
    if (sequences.length === 0) return;
    const horizon = Math.max(await horizonOf(this.#manager), ...sequences);
    // First the mark, then the removal: whoever reads in between begins again without need, never too late.
    await this.publish([{ subject: horizonSubject, payload: new TextEncoder().encode(String(horizon)) }]);
    for (const sequence of sequences) {
      try {
        await this.#manager.streams.deleteMessage(streamName, sequence, false);
      } catch (error) {
        if (!isNotFound(error) && !/no message found|not found/i.test(String(error))) throw error;
      }
    }
  }

  keyValue(bucket: string, options: KeyValueOptions = {}): Promise<KeyValue> {
    const { log, replicas } = this.#options;
    const parts = { connection: this.#connection, manager: this.#manager, client: this.#client, replicas, log };
    return openNatsKeyValue(bucket, options, parts);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const reason = new BusError("BUS_CLOSED", "the bus is closed");
    this.#closing.abort(reason);
    this.#lost.abort(reason);
    this.#back.resolve();
    await this.#connection.close();
  }

  async *#consume(
    filters: readonly string[],
    position: number,
    { last }: StreamLook,
    isCaughtUp: boolean,
    stop: AbortSignal,
  ): AsyncGenerator<BusItem> {
    const { signal: lost } = this.#lost;
    const epoch = this.#epoch;
    const parts = { connection: this.#connection, manager: this.#manager, stream: streamName };
    let isWaiting = !isCaughtUp;
    let sequence = Math.max(position, last);
    for await (const item of deliveries({ ...parts, filters, start: position }, AbortSignal.any([stop, lost]))) {
      if (item.kind === "message") {
        sequence = Math.max(sequence, item.message.sequence);
        yield { kind: "message", message: item.message };
      }
      if (!isWaiting || (item.kind !== "idle" && item.pending > 0)) continue;
      isWaiting = false;
      yield { kind: "caught-up", sequence, epoch };
    }
  }

  async #readLastValues(filter: string): Promise<readonly StoredMessage[]> {
    const stop = AbortSignal.any([this.#closing.signal, this.#lost.signal]);
    const parts = { connection: this.#connection, manager: this.#manager, stream: streamName };
    const found = new Map<string, StoredMessage>();
    for await (const item of deliveries({ ...parts, filters: [filter], start: "last-per-subject" }, stop)) {
      if (item.kind === "message") found.set(item.message.subject, item.message);
      if (item.kind === "idle" || item.pending === 0)
        return [...found.values()].sort((a, b) => a.sequence - b.sequence);
    }
    throw new BusError("BUS_CONNECT", `reading ${filter} was interrupted`);
  }

  async #publishInOrder(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    for (const message of messages) this.#refuseTooLarge(message);
    const sequences: number[] = [];
    for (const window of windows(messages)) sequences.push(...(await this.#publishWindow(window)));
    return sequences;
  }

  /** Subjects within a window differ, so that retries of some cannot put an older value over a newer one. */
  async #publishWindow(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    const { log } = this.#options;
    const ids = messages.map(() => nuid.next());
    const sequences = new Map<number, number>();
    for (let attempts = 0; sequences.size < messages.length; attempts++) {
      await this.#back.promise;
      this.#closing.signal.throwIfAborted();
      const { signal: lost } = this.#lost;
      const missing = [...messages.keys()].filter((i) => !sequences.has(i));
      const sent = missing.map((i) => orAborted(this.#publishOne(messages[i], ids[i] ?? ""), lost));
      const results = await Promise.allSettled(sent);
      for (const [at, result] of results.entries())
        if (result.status === "fulfilled") sequences.set(missing[at] ?? 0, result.value);
      const failure = results.find((result) => result.status === "rejected");
      if (failure === undefined) continue;
      this.#closing.signal.throwIfAborted();
      if (attempts === 0) log.warn("publishing is interrupted, trying again", { error: failure.reason });
      await this.#recover();
    }
    return messages.map((_, i) => sequences.get(i) ?? 0);
  }

  async #publishOne(message: OutgoingMessage | undefined, msgID: string): Promise<number> {
    if (message === undefined) throw new BusError("BUS_PUBLISH", "no message");
    const all = headers();
    for (const [name, value] of Object.entries(message.headers ?? {})) all.set(name, value);
    const options = { msgID, headers: all, timeout: publishTimeoutMs };
    const { seq } = await this.#client.publish(message.subject, message.payload, options);
    return seq;
  }

  #refuseTooLarge(message: OutgoingMessage): void {
    const bytes = messageBytes(message);
    if (bytes <= this.maxMessageBytes) return;
    throw new BusError(
      "BUS_PUBLISH",
      `${message.subject} has ${bytes} bytes, the server takes ${this.maxMessageBytes}`,
    );
  }

  /** Where the stream ends now. A stream that is gone is made anew, and whoever listens is told. */
  async #look(): Promise<StreamLook & { readonly horizon: number }> {
    const look = await openStream(this.#manager, this.#options.replicas);
    if (look.epoch !== this.#epoch) {
      this.#options.log.warn("the stream was lost and is made anew", { before: this.#epoch, now: look.epoch });
      this.#epoch = look.epoch;
      for (const listener of [...this.#epochListeners]) listener(look.epoch);
    }
    return { ...look, horizon: await horizonOf(this.#manager) };
  }

  async #recover(): Promise<void> {
    await delay(retryMs, this.#closing.signal);
    if (!this.#state.connected) return;
    try {
      await this.#look();
    } catch (error) {
      this.#options.log.debug("jetstream does not answer yet", { error });
    }
  }

  async #watchConnection(): Promise<void> {
    for await (const { type, data } of this.#connection.status()) {
      if (type === Events.Disconnect) this.#onLost(String(data));
      else if (type === Events.Reconnect) void this.#onBack();
    }
  }

  #onLost(reason: string): void {
    this.#lost.abort(new BusError("BUS_CONNECT", `the connection to ${reason} is lost`));
    if (!this.#state.connected) return;
    this.#back = Promise.withResolvers();
    this.#setState({ connected: false, sinceMs: this.#options.nowMs(), reason });
    this.#options.log.warn("nats is away", { reason });
  }

  /** Back means that the stream answers, not only that the connection stands. */
  async #onBack(): Promise<void> {
    this.#lost = new AbortController();
    try {
      const { signal } = this.#closing;
      await patiently(
        () => this.#look(),
        { what: "jetstream", log: this.#options.log },
        AbortSignal.any([signal, this.#lost.signal]),
      );
    } catch (error) {
      this.#options.log.debug("away again before the stream answered", { error });
      return;
    }
    this.#setState({ connected: true });
    this.#back.resolve();
    this.#options.log.info("nats is back");
  }

  #setState(state: BusState): void {
    this.#state = state;
    for (const listener of [...this.#stateListeners]) listener(state);
  }
}

function windows(messages: readonly OutgoingMessage[]): readonly (readonly OutgoingMessage[])[] {
  const found: OutgoingMessage[][] = [];
  let subjects = new Set<string>();
  for (const message of messages) {
    const current = found.at(-1);
    if (current === undefined || subjects.has(message.subject) || current.length >= windowSize) {
      found.push([message]);
      subjects = new Set([message.subject]);
    } else {
      current.push(message);
      subjects.add(message.subject);
    }
  }
  return found;
}
