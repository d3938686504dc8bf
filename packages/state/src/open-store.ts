/** Chooses the implementation by the URL: `redis://…`, `redis+sentinel://…` or `embedded:NAME`. */
import type { Logger } from "@flotilla/runtime";
import { openEmbedded } from "./embedded-store.ts";
import type { Mac } from "./entry-codec.ts";
import { StateError } from "./errors.ts";
import { openRedis } from "./redis-store.ts";
import { isRedisUrl } from "./redis-url.ts";
import type { SnapshotStore, UnreadableValues } from "./snapshot-store.ts";

/** Address of the store and the life of the writer's lock in milliseconds. */
export interface OpenOptions {
  readonly url: string;
  readonly log: Logger;
  readonly nowMs?: () => number;
  /** Time for which a silent writer stays the writer; ten seconds unless given. */
  readonly lockMs?: number;
  /** Authenticates entries and position with a key that the replicas share; without it only damage is found. */
  readonly mac?: Mac | undefined;
  /** Where values are noted that cannot be read; logged unless given. */
  readonly unreadable?: UnreadableValues;
}

/** Does not wait for Redis: the store's `state` reports. @throws StateError STATE_CONNECT when the URL is neither */
export function openStore({
  url,
  log,
  nowMs = Date.now,
  lockMs = 10_000,
  mac,
  unreadable = logged(log),
}: OpenOptions): SnapshotStore {
  const embedded = /^embedded:(.+)$/.exec(url)?.[1];
  if (embedded !== undefined) return openEmbedded(embedded, nowMs, lockMs);
  if (!isRedisUrl(url))
    throw new StateError(
      "STATE_CONNECT",
      `"${url}" is none of redis://host:port, redis+sentinel://host:port/NAME, embedded:NAME`,
    );
  return openRedis({ url, log, nowMs, lockMs, mac, unreadable });
}

function logged(log: Logger): UnreadableValues {
  return { note: (place, error) => log.error("invalid value ignored", { place, error }), heal: () => undefined };
}
