/** For tests: the streams of a JetStream server in memory, as its API answers for them. */
import { randomUUID } from "node:crypto";
import { matchesFilter } from "./topics.ts";

export interface StoredInMemory {
  readonly subject: string;
  readonly sequence: number;
  readonly payload: Buffer;
  /** As on the wire, empty where there are none. */
  readonly headers: Buffer;
  readonly atMs: number;
}

export interface ConsumerInMemory {
  readonly id: string;
  readonly inbox: string;
  readonly stream: StreamInMemory;
  readonly filters: readonly string[];
  /** The sequence that was delivered last, or where it begins. */
  reached: number;
  delivered: number;
}

export interface StreamConfigInMemory {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly max_age?: number;
}

type Answer = Readonly<Record<string, unknown>>;

const failure = (code: number, err_code: number, description: string): Answer => ({
  error: { code, err_code, description },
});

/** Keeps the last message of each subject. */
export class StreamInMemory {
  readonly created = `2026-01-01T00:00:00Z ${randomUUID()}`;
  config: StreamConfigInMemory;
  messages: StoredInMemory[] = [];
  last = 0;

  constructor(config: StreamConfigInMemory) {
    this.config = config;
  }

  /** Without those that are past their age. */
  get kept(): readonly StoredInMemory[] {
    const ageMs = (this.config.max_age ?? 0) / 1_000_000;
    if (ageMs > 0) this.messages = this.messages.filter(({ atMs }) => atMs + ageMs > Date.now());
    return this.messages;
  }

  put(subject: string, payload: Buffer, headers: Buffer = Buffer.alloc(0), atMs = Date.now()): number {
    this.messages = this.messages.filter((message) => message.subject !== subject);
    this.messages.push({ subject, sequence: ++this.last, payload, headers, atMs });
    return this.last;
  }

  /** As a server that comes back without its last messages. */
  rewind(last: number): void {
    this.messages = this.messages.filter(({ sequence }) => sequence <= last);
    this.last = last;
  }

  info(): Answer {
    const { config, created, last } = this;
    const lastAtMs = this.messages.at(-1)?.atMs ?? 0;
    return { config, created, state: { last_seq: last, last_ts: new Date(lastAtMs).toISOString() } };
  }
}

/** The requests below `$JS.API.` and messages to the subjects of streams. */
export class JetStreamInMemory {
  readonly streams = new Map<string, StreamInMemory>();
  readonly consumers = new Map<string, ConsumerInMemory>();
  readonly #ids = new Map<string, number>();

  /** Undefined where no stream has the subject. */
  store(subject: string, payload: Buffer, headers: Buffer): Answer | undefined {
    const stream = [...this.streams.values()].find(({ config }) =>
      config.subjects.some((filter) => matchesFilter(subject, filter)),
    );
    if (stream === undefined) return undefined;
    const header = (name: string) => new RegExp(`^${name}: *(.*)\r$`, "im").exec(headers.toString())?.[1];
    const expected = header("Nats-Expected-Last-Subject-Sequence");
    const lastOfSubject = stream.kept.find((message) => message.subject === subject)?.sequence ?? 0;
    if (expected !== undefined && Number(expected) !== lastOfSubject)
      return failure(400, 10_071, `wrong last sequence: ${lastOfSubject}`);
    const id = header("Nats-Msg-Id");
    const known = id === undefined ? undefined : this.#ids.get(id);
    const seq = known ?? stream.put(subject, payload, headers);
    if (id !== undefined) this.#ids.set(id, seq);
    return { stream: stream.config.name, seq, ...(known !== undefined && { duplicate: true }) };
  }

  /** `call` is the subject behind `$JS.API.`. */
  answer(call: string, body: string): Answer {
    const request = body === "" ? {} : JSON.parse(body);
    if (call === "INFO") return { type: "io.nats.jetstream.api.v1.account_info_response", limits: {} };
    const [first = "", second = "", third = "", fourth = ""] = call.split(".");
    if (first === "CONSUMER") return this.#consume(third, request);
    const stream = this.streams.get(second === "MSG" ? fourth : third);
    if (`${first}.${second}` === "STREAM.CREATE") {
      if (stream !== undefined)
        return failure(400, 10_058, "stream name already in use with a different configuration");
      const made = new StreamInMemory(request);
      this.streams.set(third, made);
      return made.info();
    }
    if (stream === undefined) return failure(404, 10_059, "stream not found");
    if (second === "MSG") return third === "GET" ? getMessage(stream, request) : removeMessage(stream, request);
    if (second === "UPDATE") stream.config = request;
    return stream.info();
  }

  #consume(name: string, { config }: { config: Readonly<Record<string, unknown>> }): Answer {
    const stream = this.streams.get(name);
    if (stream === undefined) return failure(404, 10_059, "stream not found");
    const one = config["filter_subject"] as string | undefined;
    const filters = one === undefined ? (config["filter_subjects"] as readonly string[]) : [one];
    const reached = config["deliver_policy"] === "by_start_sequence" ? Number(config["opt_start_seq"]) - 1 : 0;
    const id = randomUUID();
    const inbox = String(config["deliver_subject"]);
    const consumer = { id, inbox, stream, filters, reached, delivered: 0 };
    if (config["deliver_subject"] !== undefined) this.consumers.set(id, consumer);
    return { name: id, stream_name: name, config, num_pending: pendingOf(consumer).length };
  }
}

export function pendingOf({ stream, filters, reached }: ConsumerInMemory): readonly StoredInMemory[] {
  return stream.kept.filter(
    ({ subject, sequence }) => sequence > reached && filters.some((filter) => matchesFilter(subject, filter)),
  );
}

interface MessageQuery {
  readonly seq?: number;
  readonly next_by_subj?: string;
  readonly last_by_subj?: string;
}

function getMessage(
  { kept }: StreamInMemory,
  { seq = 0, next_by_subj: next, last_by_subj: last }: MessageQuery,
): Answer {
  const found =
    last === undefined
      ? kept.find(({ subject, sequence }) =>
          next === undefined ? sequence === seq : sequence >= seq && matchesFilter(subject, next),
        )
      : kept.findLast(({ subject }) => matchesFilter(subject, last));
  if (found === undefined) return failure(404, 10_037, "no message found");
  const { subject, sequence, payload, headers, atMs } = found;
  const hdrs = headers.length === 0 ? {} : { hdrs: headers.toString("base64") };
  return {
    message: { subject, seq: sequence, data: payload.toString("base64"), time: new Date(atMs).toISOString(), ...hdrs },
  };
}

function removeMessage(stream: StreamInMemory, { seq }: MessageQuery): Answer {
  if (!stream.kept.some(({ sequence }) => sequence === seq)) return failure(400, 10_043, `sequence ${seq} not found`);
  stream.messages = stream.messages.filter(({ sequence }) => sequence !== seq);
  return { success: true };
}
