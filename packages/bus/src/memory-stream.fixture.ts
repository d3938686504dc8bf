/** For tests: the requests that we make of a JetStream server, answered by one stream in memory that keeps the last message of each subject. */
import { Empty, type JetStreamClient, type JetStreamManager, NatsError, type StreamConfig } from "nats";
import { matchesFilter } from "./topics.ts";

interface Kept {
  readonly subject: string;
  readonly seq: number;
  readonly data: Uint8Array;
  readonly timestamp: string;
}

export interface MemoryStream {
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
  /** Undefined while there is no stream. */
  config: Partial<StreamConfig> | undefined;
  created: string;
  /** Requests received, by the names of the methods. */
  readonly calls: string[];
  /** Asked before each request: an error is the answer to it. */
  refusal: (call: string) => Error | undefined;
  /** Gives the sequence. */
  put(subject: string, text?: string, atMs?: number): number;
  remove(sequence: number): void;
}

const notFound = () => new NatsError("no message found", "404");

export function memoryStream(config: Partial<StreamConfig> | undefined = { name: "S", num_replicas: 1 }): MemoryStream {
  const messages: Kept[] = [];
  let last = 0;
  const keep = (subject: string, data: Uint8Array, atMs: number): number => {
    const before = messages.findIndex((message) => message.subject === subject);
    if (before >= 0) messages.splice(before, 1);
    last++;
    messages.push({ subject, seq: last, data, timestamp: new Date(atMs).toISOString() });
    return last;
  };
  const answer = async <T>(call: string, work: () => T): Promise<T> => {
    stream.calls.push(call);
    const error = stream.refusal(call);
    if (error !== undefined) throw error;
    return work();
  };
  const infoOf = () => {
    if (stream.config === undefined) throw notFound();
    const last_ts = messages.at(-1)?.timestamp ?? new Date(0).toISOString();
    return { config: stream.config, created: stream.created, state: { last_seq: last, last_ts } };
  };
  const streams = {
    info: () => answer("info", infoOf),
    add: (wanted: Partial<StreamConfig>) =>
      answer("add", () => {
        stream.config = { ...wanted };
        return infoOf();
      }),
    update: (_: string, wanted: Partial<StreamConfig>) =>
      answer("update", () => {
        stream.config = { ...wanted };
        return infoOf();
      }),
    getMessage: (_: string, query: { seq?: number; next_by_subj?: string; last_by_subj?: string }) =>
      answer("getMessage", () => {
        const { seq = 0, next_by_subj: next, last_by_subj: lastOf } = query;
        const found =
          lastOf !== undefined
            ? messages.findLast(({ subject }) => matchesFilter(subject, lastOf))
            : messages.find((one) =>
                next === undefined ? one.seq === seq : one.seq >= seq && matchesFilter(one.subject, next),
              );
        if (found === undefined) throw notFound();
        return found;
      }),
    deleteMessage: (_: string, seq: number) =>
      answer("deleteMessage", () => {
        if (!messages.some((message) => message.seq === seq)) throw notFound();
        stream.remove(seq);
        return true;
      }),
  };
  const stream: MemoryStream = {
    ...{ config, created: "epoch 1", calls: [], refusal: () => undefined },
    manager: { streams } as unknown as JetStreamManager,
    client: {
      publish: (subject: string, data: Uint8Array = Empty) =>
        answer(`publish ${subject}`, () => ({ seq: keep(subject, data, 1_000 * (last + 1)) })),
    } as unknown as JetStreamClient,
    put: (subject, text = "", atMs = 1_000 * (last + 1)) => keep(subject, new TextEncoder().encode(text), atMs),
    remove: (sequence) => {
      const at = messages.findIndex(({ seq }) => seq === sequence);
      if (at >= 0) messages.splice(at, 1);
    },
  };
  return stream;
}
