/** Shared values over a JetStream key-value bucket. */
import { delay, type Logger } from "@flotilla/runtime";
import { type JetStreamClient, type KV, NatsError, StorageType } from "nats";
import type { KeyValue, KeyValueEntry, KeyValueOptions } from "./key-value.ts";
import { retryMs } from "./nats-connection.ts";
import type { NatsLink } from "./nats-link.ts";
import { deliveries } from "./ordered-consumer.ts";
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
    watch: (stop) => watch(name, parts, stop),
  };
}

async function* watch(name: string, { link, log }: Parts, stop: AbortSignal): AsyncGenerator<KeyValueEntry> {
  const prefix = `$KV.${name}.`;
  const told = new Map<string, number>();
  const options = { stream: `KV_${name}`, filters: [`${prefix}>`], start: "last-per-subject" } as const;
  const until = AbortSignal.any([stop, link.closed]);
  while (!until.aborted) {
    try {
      await link.whenBack(until);
      const { connection, manager, lost } = link;
      for await (const item of deliveries({ ...options, connection, manager }, AbortSignal.any([until, lost]))) {
        if (item.kind !== "message") continue;
        const { subject, sequence: revision, payload, headers } = item.message;
        const key = untoken(subject.slice(prefix.length));
        if (told.get(key) === revision) continue;
        told.set(key, revision);
        const isGone = (headers["KV-Operation"] ?? "PUT") !== "PUT";
        yield isGone ? { key, revision } : { key, revision, value: payload };
      }
    } catch (error) {
      if (until.aborted) return;
      log.warn("watching shared values is interrupted, trying again", { bucket: name, error });
    }
    await delay(retryMs, until);
  }
}
