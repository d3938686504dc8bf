/** The bus over NATS JetStream: one stream for the fleet, the last message of each subject kept. */
import { delay, type Logger } from "@flotilla/runtime";
import {
  type ConsumerMessages,
  connect,
  DeliverPolicy,
  DiscardPolicy,
  Events,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type NatsConnection,
  nuid,
  StorageType,
} from "nats";
import type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, StoredMessage } from "./bus.ts";
import { subjectRoot } from "./bus.ts";
import { BusError } from "./errors.ts";

export interface NatsOptions {
  /** `nats://host:port`, several separated by commas. */
  readonly url: string;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Name of this connection on the server's pages. */
  readonly clientName: string;
}

const stream = "FLOTILLA";
/** A retry within this time is recognised as such by the server. */
const duplicateWindowNanos = 120 * 1e9;
const retryMs = 250;

/** Waits for the servers when they are away, telling so; never gives up unless `stop` fires. */
export async function connectNats({ url, log, nowMs, clientName }: NatsOptions, stop: AbortSignal): Promise<Bus> {
  const connection = await connectPatiently(url, clientName, log, stop);
  const manager = await patiently(() => openStream(connection), log, stop);
  return new NatsBus(connection, manager, log, nowMs);
}

async function connectPatiently(url: string, name: string, log: Logger, stop: AbortSignal): Promise<NatsConnection> {
  const servers = url.split(",").map((server) => server.trim());
  return patiently(
    () => connect({ servers, name, maxReconnectAttempts: -1, reconnectTimeWait: retryMs, pingInterval: 10_000 }),
    log,
    stop,
  );
}

async function patiently<T>(attempt: () => Promise<T>, log: Logger, stop: AbortSignal): Promise<T> {
  for (let told = false; ; told = true) {
    stop.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      if (!told) log.warn("nats is away, waiting for it", { error });
      await delay(retryMs, stop);
    }
  }
}

async function openStream(connection: NatsConnection): Promise<JetStreamManager> {
  const manager = await connection.jetstreamManager();
  const config = {
    subjects: [`${subjectRoot}.>`],
    storage: StorageType.File,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.Old,
    duplicate_window: duplicateWindowNanos,
    allow_direct: true,
  };
  try {
    await manager.streams.info(stream);
  } catch {
    // Not there yet; if another service makes it at the same time, with the same settings, both succeed.
    await manager.streams.add({ name: stream, ...config });
  }
  return manager;
}

class NatsBus implements Bus {
  readonly #connection: NatsConnection;
  readonly #manager: JetStreamManager;
  readonly #client: JetStreamClient;
  readonly #log: Logger;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<(state: BusState) => void>();
  #state: BusState = { connected: true };
  #publishing: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(connection: NatsConnection, manager: JetStreamManager, log: Logger, nowMs: () => number) {
    this.#connection = connection;
    this.#manager = manager;
    this.#client = connection.jetstream();
    this.#log = log;
    this.#nowMs = nowMs;
    void this.#watchConnection();
  }

  get state(): BusState {
    return this.#state;
  }

  onState(listener: (state: BusState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    // One batch after the other: a batch that is retried must not be overtaken.
    const result = this.#publishing.then(() => this.#publishInOrder(messages));
    this.#publishing = result.catch(() => {});
    return result;
  }

  async lastValues(filter: string): Promise<readonly StoredMessage[]> {
    const consumer = await this.#client.consumers.get(stream, {
      filterSubjects: filter,
      deliver_policy: DeliverPolicy.LastPerSubject,
    });
    const { num_pending: pending } = await consumer.info();
    const found: StoredMessage[] = [];
    if (pending === 0) return found;
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const message of messages) {
      found.push(stored(message));
      if (message.info.pending === 0) break;
    }
    await messages.close();
    return found;
  }

  async *follow({ filter, afterSequence }: FollowOptions, stop: AbortSignal): AsyncGenerator<BusItem> {
    let position = afterSequence;
    let isCaughtUp = false;
    while (!stop.aborted && !this.#isClosed) {
      try {
        const { last_seq: last } = (await this.#manager.streams.info(stream)).state;
        if (position > last) {
          yield { kind: "reset", reason: `position ${position} lies after the stream's end, ${last}` };
          [position, isCaughtUp] = [0, false];
        }
        for await (const item of this.#consume(filter, position, last, isCaughtUp, stop)) {
          if (item.kind === "message") position = item.message.sequence;
          if (item.kind === "caught-up") isCaughtUp = true;
          yield item;
        }
      } catch (error) {
        if (stop.aborted || this.#isClosed) return;
        this.#log.warn("following is interrupted, trying again", { position, error });
        await delay(retryMs, stop);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#connection.close();
  }

  /** Ends when the stream may have been lost, so that the position is compared with it again. */
  async *#consume(
    filter: string,
    position: number,
    last: number,
    isCaughtUp: boolean,
    stop: AbortSignal,
  ): AsyncGenerator<BusItem> {
    // From the beginning is the default; asked for by name, the client library (2.29.3) never answers.
    const start = position === 0 ? {} : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: position + 1 };
    const consumer = await this.#client.consumers.get(stream, { filterSubjects: filter, ...start });
    const { num_pending: pending } = await consumer.info();
    if (pending === 0 && !isCaughtUp) yield { kind: "caught-up", sequence: last };
    let waiting = pending > 0 && !isCaughtUp;
    const messages = await consumer.consume({ max_messages: 500 });
    const end = () => void messages.close();
    const forget = this.onState((state) => state.connected && end());
    stop.addEventListener("abort", end, { once: true });
    try {
      for await (const message of messages) {
        yield { kind: "message", message: stored(message) };
        if (!waiting || message.info.pending > 0) continue;
        waiting = false;
        yield { kind: "caught-up", sequence: message.seq };
      }
    } finally {
      forget();
      stop.removeEventListener("abort", end);
      await close(messages);
    }
  }

  /** All are under way at once, which keeps their order; from the first that failed on, one by one again. */
  async #publishInOrder(messages: readonly OutgoingMessage[]): Promise<readonly number[]> {
    const ids = messages.map(() => nuid.next());
    const sequences: number[] = [];
    const window = 200;
    while (sequences.length < messages.length) {
      if (this.#isClosed) throw new BusError("BUS_CLOSED", "the bus is closed");
      const begin = sequences.length;
      const batch = messages.slice(begin, begin + window);
      const results = await Promise.allSettled(
        batch.map((message, i) => this.#publishOne(message, ids[begin + i] ?? "")),
      );
      for (const result of results) {
        if (result.status === "rejected") {
          this.#refuseHopeless(result.reason);
          await delay(retryMs);
          break;
        }
        sequences.push(result.value);
      }
    }
    return sequences;
  }

  async #publishOne({ subject, payload, headers: given = {} }: OutgoingMessage, msgID: string): Promise<number> {
    const all = headers();
    for (const [name, value] of Object.entries(given)) all.set(name, value);
    const { seq } = await this.#client.publish(subject, payload, { msgID, headers: all, timeout: 5_000 });
    return seq;
  }

  #refuseHopeless(error: unknown): void {
    const code = (error as { readonly code?: string }).code;
    if (code === "MAX_PAYLOAD_EXCEEDED")
      throw new BusError("BUS_PUBLISH", "a message is larger than the server takes", { cause: error });
  }

  async #watchConnection(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === Events.Disconnect) {
        this.#setState({ connected: false, sinceMs: this.#nowMs(), reason: String(status.data) });
      } else if (status.type === Events.Reconnect) {
        this.#setState({ connected: true });
      }
    }
  }

  #setState(state: BusState): void {
    if (state.connected === this.#state.connected) return;
    this.#state = state;
    if (state.connected) this.#log.info("nats is back");
    else this.#log.warn("nats is away", { reason: state.reason });
    for (const listener of [...this.#listeners]) listener(state);
  }
}

async function close(messages: ConsumerMessages): Promise<void> {
  const error = await messages.close();
  if (error !== undefined && error !== null && error instanceof Error) throw error;
}

function stored(message: JsMsg): StoredMessage {
  const found: Record<string, string> = {};
  for (const [name, values] of message.headers ?? []) found[name] = values[0] ?? "";
  return { subject: message.subject, sequence: message.seq, payload: message.data, headers: found };
}
