/**
 * Reads a JetStream stream in order: an ephemeral push consumer whose every delivery is counted. It ends, instead of going on with a gap,
 * when a delivery or several heartbeats are missing; its reader begins again from its last position.
 *
 * differs: the client library's ordered consumers keep a timer of consumers whose server was killed, and report nothing when a stream is
 * removed under them.
 */
import { orAborted, sharedDelay } from "@flotilla/runtime";
import {
  AckPolicy,
  type ConsumerConfig,
  createInbox,
  DeliverPolicy,
  type JetStreamManager,
  type Msg,
  type NatsConnection,
  nanos,
  nuid,
  type Subscription,
} from "nats";
import type { ReadOptions, StoredMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import { lastSequence } from "./jetstream.ts";
import { inboxPrefixOf } from "./nats-connection.ts";

/** The stream, its subjects and where reading begins. */
export interface ConsumerOptions extends ReadOptions {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly stream: string;
  readonly filters: readonly string[];
  /** After this sequence, or only the last value of each subject. */
  readonly start: number | "last-per-subject";
}

/** Items that the consumer yields: a message and the number pending behind it, or that it is idle. */
export type Delivery =
  | { readonly kind: "begin"; readonly pending: number }
  | { readonly kind: "message"; readonly message: StoredMessage; readonly pending: number }
  /** There is nothing more at the moment. */
  | { readonly kind: "idle" };

/**
 * Rate of a paced consumer: 2 MB/s after an initial burst of one largest message (`max_payload`). Reading at full speed delays each
 * acknowledgement to a publisher by up to 50 ms.
 */
const pacedBitsPerSecond = 16_000_000;
/** How often the server reports that a consumer is there, and after how many intervals without anything the consumer is missed. */
interface Heartbeats {
  readonly everyMs: number;
  readonly missed: number;
}
/** In a cluster a consumer dies with its server, which may be another one than the one that is connected. */
const ofCluster: Heartbeats = { everyMs: 750, missed: 4 };
/**
 * A single server does not die without the connection, which ends the reading at once: heartbeats find a consumer that was removed. Each
 * wakes the process, and some have seven consumers.
 */
const ofOneServer: Heartbeats = { everyMs: 3_000, missed: 2 };

/** Ends when `stop` fires or the reading must begin again. */
export async function* deliveries(options: ConsumerOptions, stop: AbortSignal): AsyncGenerator<Delivery, void> {
  const { connection, manager, stream, start } = options;
  const inbox = createInbox(inboxPrefixOf(connection));
  const subscription = connection.subscribe(inbox);
  const end = (): void => subscription.unsubscribe();
  stop.addEventListener("abort", end, { once: true });
  const reading = new AbortController();
  void watch(subscription, heartbeatsOf(connection), reading.signal, end);
  const place: Place = { reached: start === "last-per-subject" ? 0 : start, target: 0 };
  try {
    const added = await unlessAborted(async () => {
      place.target = await targetOf(options);
      return await manager.consumers.add(stream, configuration(inbox, options));
    }, stop);
    if (added === undefined) return;
    yield { kind: "begin", pending: atLeast(added.num_pending, place) };
    let delivered = 0;
    for await (const message of subscription) {
      const status = message.headers?.code ?? 0;
      if (status === 0) {
        const item = delivery(message);
        if (item.number !== ++delivered) return;
        place.reached = item.message.sequence;
        yield { ...item, pending: atLeast(item.pending, place) };
      } else {
        const word = status === 100 ? heartbeat(message, connection, delivered) : "gap";
        if (word === "gap") return;
        // The message that is missing may have been removed meanwhile.
        if (word === "idle" && isBehind(place)) place.target = await targetOf(options);
        if (word === "idle" && !isBehind(place)) yield { kind: "idle" };
      }
    }
  } finally {
    reading.abort();
    stop.removeEventListener("abort", end);
    // The server removes a consumer without a listener.
    if (!connection.isClosed()) end();
  }
}

/** Undefined once `stop` fires: a request that was sent over a lost connection is not answered, and would be waited for until its time-out. */
async function unlessAborted<T>(request: () => Promise<T>, stop: AbortSignal): Promise<T | undefined> {
  try {
    return await orAborted(request(), stop);
  } catch (error) {
    if (stop.aborted) return undefined;
    throw error;
  }
}

/** How far a consumer is, and how far the leader of the stream was when it began. */
interface Place {
  reached: number;
  target: number;
}

/**
 * In a cluster a consumer may live on a copy that is behind the leader: it has nothing pending although the leader has acknowledged
 * more. One server cannot be behind itself.
 */
function targetOf({ connection, manager, stream, filters }: ConsumerOptions): Promise<number> {
  return isClustered(connection) ? lastSequence(manager, stream, filters) : Promise.resolve(0);
}

function isClustered({ info }: NatsConnection): boolean {
  return info?.cluster !== undefined;
}

function heartbeatsOf(connection: NatsConnection): Heartbeats {
  return isClustered(connection) ? ofCluster : ofOneServer;
}

function isBehind({ reached, target }: Place): boolean {
  return reached < target;
}

function atLeast(pending: number, place: Place): number {
  return isBehind(place) ? Math.max(pending, 1) : pending;
}

function configuration(
  inbox: string,
  { connection, filters, start, isPaced = false }: ConsumerOptions,
): Partial<ConsumerConfig> {
  const from =
    start === "last-per-subject"
      ? { deliver_policy: DeliverPolicy.LastPerSubject }
      : start === 0
        ? { deliver_policy: DeliverPolicy.All }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: start + 1 };
  return {
    ...from,
    deliver_subject: inbox,
    // One as a text, for a list of one is an error to some servers.
    // With a name the subject of the request has the filter too, by which NATS decides whether a service may read it.
    ...(filters.length === 1
      ? { name: nuid.next(), filter_subject: filters[0] ?? ">" }
      : { filter_subjects: [...filters] }),
    ack_policy: AckPolicy.None,
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    // The server stops sending until what was sent has been read: nothing piles up here.
    flow_control: true,
    ...(isPaced ? { rate_limit_bps: pacedBitsPerSecond } : {}),
    idle_heartbeat: nanos(heartbeatsOf(connection).everyMs),
    inactive_threshold: nanos(10_000),
  };
}

/** Counts what arrives, not what is read: a reader that takes its time loses no heartbeat. */
async function watch(
  subscription: Subscription,
  { everyMs, missed }: Heartbeats,
  stop: AbortSignal,
  end: () => void,
): Promise<void> {
  let seen = -1;
  for (let quiet = 0; quiet < missed; ) {
    await sharedDelay(everyMs, stop);
    if (stop.aborted) return;
    const received = subscription.getReceived();
    quiet = received === seen ? quiet + 1 : 0;
    seen = received;
  }
  end();
}

/**
 * Interprets a status message of the server, which is no delivery. Answers flow control on the way: until that has come the server sends
 * nothing although there is more, and reports only that it is there still, which is not idleness.
 */
function heartbeat(message: Msg, connection: NatsConnection, delivered: number): "idle" | "waiting" | "gap" {
  if (message.headers?.description.startsWith("Flow") === true) {
    message.respond();
    return "waiting";
  }
  if (Number(message.headers?.get("Nats-Last-Consumer") ?? Number.NaN) !== delivered) return "gap";
  const stalled = message.headers?.get("Nats-Consumer-Stalled") ?? "";
  if (stalled === "") return message.headers?.description.startsWith("Idle") === true ? "idle" : "waiting";
  connection.publish(stalled);
  return "waiting";
}

function delivery(message: Msg): Delivery & { readonly kind: "message"; readonly number: number } {
  const { sequence, number, storedAtMs, pending } = parsePlace(message.reply ?? "");
  const headers = Object.fromEntries([...(message.headers ?? [])].map(([name, values]) => [name, values[0] ?? ""]));
  const { subject, data: payload } = message;
  return { kind: "message", message: { subject, sequence, payload, headers, storedAtMs }, pending, number };
}

/**
 * The reply subject holds the place in the stream and in the delivery, from its end or, with the two
 * tokens of newer servers before the stream's name, one further in:
 * `$JS.ACK.[domain.account.]stream.consumer.deliveries.sequence.number.nanoseconds.pending[.random]`.
 */
function parsePlace(reply: string): {
  readonly sequence: number;
  readonly number: number;
  readonly storedAtMs: number;
  readonly pending: number;
} {
  const tokens = reply.split(".");
  const at = tokens.length === 9 ? 5 : 7;
  const [sequence, number, pending] = [tokens[at], tokens[at + 1], tokens[at + 3]].map(Number);
  // Nanoseconds are more than a number holds.
  const storedAtMs = Number(tokens[at + 2]?.slice(0, -6));
  if (sequence === undefined || number === undefined || pending === undefined || !Number.isFinite(storedAtMs))
    throw new BusError("BUS_BAD_EVENT", `a delivery's place cannot be read from "${reply}"`);
  return { sequence, number, storedAtMs, pending };
}
