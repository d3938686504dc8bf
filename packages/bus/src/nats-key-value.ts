/** Shared values over a JetStream key-value bucket. */
import { delay, type Logger } from "@flotilla/runtime";
import { type JetStreamClient, type KV, NatsError, StorageType } from "nats";
import { BusError } from "./errors.ts";
import type { KeyValue, KeyValueEntry, KeyValueOptions } from "./key-value.ts";
import { retryMs } from "./nats-connection.ts";
import type { NatsLink } from "./nats-link.ts";
import { type Delivery, deliveries } from "./ordered-consumer.ts";
import { token, untoken } from "./subject.ts";

interface Parts {
  readonly link: NatsLink;
  readonly client: JetStreamClient;
  readonly replicas: number;
  readonly log: Logger;
}

/** The server's word for "somebody else was faster". */
const wrongLastSequence = 10_071;

export async function openNatsKeyValue(bucket: string, { ttlMs }: KeyValueOptions, parts: Parts): Promise<KeyValue> {
  const name = `flotilla-${token(bucket)}`;
  const open = () =>
    parts.client.views.kv(name, {
      history: 1,
      storage: StorageType.File,
      replicas: parts.replicas,
      ...(ttlMs !== undefined && { ttl: ttlMs }),
    });
  let values = await open();
  /** A bucket that was lost with its server is made anew, empty. */
  const use = async <T>(work: (kv: KV) => Promise<T>): Promise<T> => {
    try {
      return await work(values);
    } catch (error) {
      if (!(error instanceof NatsError) || !["404", "503"].includes(error.code)) throw error;
      values = await open();
      return work(values);
    }
  };
  return {
    get: async (key) => {
      const entry = await use((kv) => kv.get(token(key)));
      if (entry === null || entry.operation !== "PUT") return undefined;
      return { key, value: entry.value, revision: entry.revision };
    },
    put: (key, value) => use((kv) => kv.put(token(key), value)),
    update: async (key, value, revision) => {
      try {
        return await use((kv) =>
          revision === 0 ? kv.create(token(key), value) : kv.update(token(key), value, revision),
        );
      } catch (error) {
        if (error instanceof NatsError && error.api_error?.err_code === wrongLastSequence) return undefined;
        throw error;
      }
    },
    delete: (key) => use((kv) => kv.delete(token(key))),
    entries: () => use(() => entries(name, parts)),
    watch: (stop) => watch(name, parts, stop),
  };
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
  const key = untoken(subject.slice(`$KV.${name}.`.length));
  const isGone = (headers["KV-Operation"] ?? "PUT") !== "PUT";
  return isGone ? { key, revision } : { key, revision, value: payload };
}

async function* watch(name: string, { link, log }: Parts, stop: AbortSignal): AsyncGenerator<KeyValueEntry> {
  const told = new Map<string, number>();
  const options = { stream: `KV_${name}`, filters: [`$KV.${name}.>`], start: "last-per-subject" } as const;
  const until = AbortSignal.any([stop, link.closed]);
  while (!until.aborted) {
    try {
      await link.whenBack(until);
      const { connection, manager, lost } = link;
      for await (const item of deliveries({ ...options, connection, manager }, AbortSignal.any([until, lost]))) {
        if (item.kind !== "message") continue;
        const entry = entryOf(name, item);
        if (told.get(entry.key) === entry.revision) continue;
        told.set(entry.key, entry.revision);
        yield entry;
      }
    } catch (error) {
      if (until.aborted) return;
      log.warn("watching shared values is interrupted, trying again", { bucket: name, error });
    }
    await delay(retryMs, until);
  }
}
