/** Shared values over a JetStream key-value bucket. */
import { delay, type Logger } from "@flotilla/runtime";
import {
  DiscardPolicy,
  ErrorCode,
  headers,
  type JetStreamClient,
  type JetStreamManager,
  type KV,
  type MsgHdrs,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "nats";
import { markText } from "./bus.ts";
import { BusError } from "./errors.ts";
import { boundSettings, isNotFound, lastMessage, updateStream } from "./jetstream.ts";
import type { KeyValue, KeyValueEntry, KeyValueOptions } from "./key-value.ts";
import type { NatsLink } from "./nats-link.ts";
import { retryMs } from "./nats-options.ts";
import { type Delivery, deliveries } from "./ordered-consumer.ts";
import type { SetAside } from "./set-aside.ts";
import { token, untoken } from "./topics.ts";

interface Parts {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly replicas: number;
  readonly log: Logger;
  readonly setAside: SetAside;
}

/** Authenticates a value. */
const codeHeader = "Flotilla-Mac";
/** Another write was first: stored already, or, in a cluster, on its way. */
const wrongLastSequence: readonly (number | undefined)[] = [10_071, 10_164];
/** How long a request waits for a new leader of its bucket, which takes 4 to 9 s after a crash. */
const electionMs = 15_000;
const electionRetryMs = 100;
/** No server received the request: the bucket is gone, or has no leader. After a time-out it may have been done. */
const notReceived: readonly string[] = ["404", ErrorCode.NoResponders];
/** For what may be done twice. */
const unanswered: readonly string[] = [...notReceived, ErrorCode.Timeout];

/** Opens a JetStream key-value bucket and creates it where it is missing; writes wait for servers that are away. */
export async function openNatsKeyValue(bucket: string, { ttlMs }: KeyValueOptions, parts: Parts): Promise<KeyValue> {
  const name = `flotilla-${token(bucket)}`;
  const { link, client, replicas } = parts;
  const find = async () => {
    const stream = `KV_${name}`;
    const bounds = boundSettings(stream);
    // The leader answers: another copy may not have what was acknowledged a moment ago.
    const settings = { storage: StorageType.File, allow_direct: false };
    const { manager } = link;
    const info = await streamOf(manager, stream, {
      ...{ subjects: [`$KV.${name}.>`], retention: RetentionPolicy.Limits, max_msgs_per_subject: 1 },
      ...{ discard: DiscardPolicy.New, allow_rollup_hdrs: true, num_replicas: replicas },
      ...(ttlMs !== undefined && { max_age: nanos(ttlMs) }),
      ...{ ...settings, ...bounds.all },
    });
    await updateStream(info, bounds.changeable, { ...parts, manager });
    return client.views.kv(name, { history: 1, replicas, ...settings });
  };
  const retried = <T>(work: () => Promise<T>, codes: readonly string[]): Promise<T> =>
    retryWhile((error) => error instanceof NatsError && codes.includes(error.code), work, parts);
  const { last, store, storeOver } = messagesOf(name, parts);
  const open = () => link.request(find);
  let values = await retried(open, unanswered);
  /** A bucket that was lost with its server is made anew, empty; one without a leader is waited for. */
  const use = async <T>(work: (kv: KV) => Promise<T>, codes: readonly string[] = notReceived): Promise<T> => {
    try {
      return await work(values);
    } catch (error) {
      if (!(error instanceof NatsError) || !codes.includes(error.code)) throw error;
    }
    return retried(async () => {
      values = await retried(open, unanswered);
      return work(values);
    }, codes);
  };
  return {
    bucket,
    setAside: parts.setAside,
    get: async (key) => {
      const entry = await use(() => link.request(() => last(key)), unanswered);
      return entry?.value === undefined ? undefined : entry;
    },
    put: (key, value, code) => use(() => link.request(() => store(key, value, { code }))),
    update: async (key, value, revision, code) => {
      try {
        return await use(() => link.request(() => storeOver(key, value, revision, code)));
      } catch (error) {
        if (isOvertaken(error)) return undefined;
        throw error;
      }
    },
    delete: (key) => use((kv) => link.request(() => kv.delete(token(key)))),
    entries: () => use(() => entries(name, parts), unanswered),
    watch: (stop) => watch(name, parts, stop),
  };
}

/** Made where it is missing: with bounds that the client's own buckets do not have. */
async function streamOf(manager: JetStreamManager, name: string, settings: Partial<StreamConfig>): Promise<StreamInfo> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return await manager.streams.add({ name, ...settings });
  }
}

/** The messages of a bucket's stream, by key. */
function messagesOf(name: string, { link, client }: Pick<Parts, "link" | "client">) {
  const subjectOf = (key: string): string => `$KV.${name}.${token(key)}`;
  /** Read from the leader. Deleted keys have no value. */
  const last = async (key: string): Promise<KeyValueEntry | undefined> => {
    const found = await lastMessage(link.manager, `KV_${name}`, subjectOf(key));
    return found && entryWith({ key, revision: found.seq, payload: found.data, headers: recordOf(found.header) });
  };
  const store = async (
    key: string,
    value: Uint8Array,
    { code, after }: { readonly code?: string | undefined; readonly after?: number },
  ): Promise<number> => {
    const all = headers();
    if (code !== undefined) all.set(codeHeader, code);
    if (after !== undefined) all.set("Nats-Expected-Last-Subject-Sequence", String(after));
    return (await client.publish(subjectOf(key), value, { headers: all })).seq;
  };
  /** Where there is none, there may be the mark of a deleted one. */
  const storeOver = async (key: string, value: Uint8Array, revision: number, code: string | undefined) => {
    try {
      return await store(key, value, { code, after: revision });
    } catch (error) {
      const found = revision === 0 && isOvertaken(error) ? await last(key) : undefined;
      if (found === undefined || found.value !== undefined) throw error;
      return store(key, value, { code, after: found.revision });
    }
  };
  return { last, store, storeOver };
}

async function entries(name: string, { link }: Parts): Promise<readonly KeyValueEntry[]> {
  await link.whenBack();
  const { connection, manager, lost } = link;
  const options = { stream: `KV_${name}`, filters: [`$KV.${name}.>`], start: "last-per-subject" } as const;
  const found = new Map<string, KeyValueEntry>();
  for await (const item of deliveries({ ...options, connection, manager }, lost)) {
    if (item.kind === "message") {
      const entry = entryOf(name, item);
      // Deleted first: the order is then that of the revisions.
      found.delete(entry.key);
      if (entry.value !== undefined) found.set(entry.key, entry);
    }
    if (item.kind === "idle" || item.pending === 0) return [...found.values()];
  }
  throw new BusError("BUS_CONNECT", `reading the shared values of ${name} was interrupted`);
}

function entryOf(name: string, { message }: Delivery & { readonly kind: "message" }): KeyValueEntry {
  const { subject, sequence: revision, payload, headers } = message;
  return entryWith({ key: untoken(subject.slice(`$KV.${name}.`.length)), revision, payload, headers });
}

interface StoredValue {
  readonly key: string;
  readonly revision: number;
  readonly payload: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

function entryWith({ key, revision, payload: value, headers }: StoredValue): KeyValueEntry {
  const isGone = (headers["KV-Operation"] ?? "PUT") !== "PUT";
  const code = headers[codeHeader];
  return isGone ? { key, revision } : { key, revision, value, ...(code !== undefined && { code }) };
}

function recordOf(found: MsgHdrs): Readonly<Record<string, string>> {
  return Object.fromEntries([...found].map(([name, values]) => [name, values[0] ?? ""]));
}

function isOvertaken(error: unknown): boolean {
  return error instanceof NatsError && wrongLastSequence.includes(error.api_error?.err_code);
}

async function* watch(name: string, { link, log }: Parts, stop: AbortSignal): AsyncGenerator<KeyValueEntry> {
  // A bucket that was rewound and written on has other values with the same revisions.
  const known = new Map<string, string>();
  const options = { stream: `KV_${name}`, filters: [`$KV.${name}.>`], start: "last-per-subject" } as const;
  const until = AbortSignal.any([stop, link.closed]);
  while (!until.aborted) {
    try {
      await link.whenBack(until);
      const { connection, manager, lost } = link;
      for await (const item of deliveries({ ...options, connection, manager }, AbortSignal.any([until, lost]))) {
        if (item.kind !== "message") continue;
        const entry = entryOf(name, item);
        const identity = markText(item.message);
        if (known.get(entry.key) === identity) continue;
        known.set(entry.key, identity);
        yield entry;
      }
    } catch (error) {
      if (until.aborted) return;
      log.warn("watching shared values is interrupted, trying again", { bucket: name, error });
    }
    await delay(retryMs, until);
  }
}

/** Repeats work that fails for want of a leader, for as long as an election may take. While NATS is away it fails at once. */
async function retryWhile<T>(
  isRetried: (error: unknown) => boolean,
  work: () => Promise<T>,
  { link, log }: Pick<Parts, "link" | "log">,
): Promise<T> {
  for (const giveUpAt = performance.now() + electionMs; ; ) {
    try {
      return await work();
    } catch (error) {
      const isAway = link.closed.aborted || !link.state.connected;
      if (!isRetried(error) || isAway || performance.now() > giveUpAt) throw error;
      log.debug("bucket not available, trying again", { error });
    }
    await delay(electionRetryMs, link.closed);
  }
}
