/** Drives the registry with the inputs of all sources, and hands services and endpoints to the bus, group by group; the snapshot first. */
import type { ChangePublisher } from "@flotilla/leadership";
import { type Change, parseShard } from "@flotilla/model";
import type { ClusterRegistries, RegistryChange } from "@flotilla/registry";
import { type Logger, mergeGroups, orAborted } from "@flotilla/runtime";

import type { RegistryMetrics } from "../metrics.ts";
import type { InputSource } from "../watch/input-source.ts";

export interface PublishOptions {
  /** Publishes, or waits for its turn: then 0 are published. */
  readonly publisher: ChangePublisher;
  /** Called after each snapshot with the keys known from then on. */
  readonly onSnapshot: (unread: readonly string[]) => Promise<void>;
  /** The effects of the configuration up to this place in the fleet's sequence are published, or another replica's to publish. */
  readonly onRead: (position: number) => void;
  readonly metrics: Pick<RegistryMetrics, "urgent" | "publishSeconds">;
  readonly log: Logger;
  readonly nowMs: () => number;
}

export async function publishChanges(
  groups: AsyncIterable<RegistryGroup>,
  { publisher, metrics, log, nowMs, onSnapshot, onRead }: PublishOptions,
  stop: AbortSignal,
): Promise<void> {
  for await (const { changes, eventTimeMs, source, read, urgent, snapshot, unread } of groups) {
    if (snapshot) {
      await orAborted(onSnapshot(unread), stop);
      if (read !== undefined) onRead(read);
      log.info("initial sync complete", { values: changes.length });
      continue;
    }
    const options = { eventTimeMs, urgent, ...(source !== undefined && { source }) };
    const published = changes.length === 0 ? 0 : await orAborted(publisher.publish(changes, options), stop);
    if (read !== undefined) onRead(read);
    if (published === 0) continue;
    if (urgent) metrics.urgent.add(1);
    metrics.publishSeconds.observe((nowMs() - eventTimeMs) / 1000);
    log.debug("published", { changes: published, urgent, source });
  }
}

/** The changes that a registry which could not be read has published before are the best available. */
export function isUnread(key: Change["key"], unread: readonly string[]): boolean {
  if (!("shard" in key)) return false;
  const { registry } = parseShard(key.shard);
  return unread.includes(key.shard) || unread.includes(`${registry}/*`);
}

export interface RegistryGroup {
  readonly changes: readonly RegistryChange[];
  readonly eventTimeMs: number;
  /** The source of its cause; absent for a snapshot. */
  readonly source?: string;
  /** The configuration up to this place in the fleet's sequence is taken in; absent when there is no more of it than before. */
  readonly read?: number;
  /** Callers may still send requests to endpoints that are gone. */
  readonly urgent: boolean;
  /** Everything there is: the first group, and again when a source that could not be read has been. */
  readonly snapshot: boolean;
  /** Shards that no source could read yet; only of a snapshot. */
  readonly unread: readonly string[];
}

/** The snapshot waits for every source: without the ServiceEntries, for example, their services would look deleted. */
export async function* runRegistry(
  registry: ClusterRegistries,
  sources: readonly InputSource[],
  stop: AbortSignal,
): AsyncGenerator<RegistryGroup, void, undefined> {
  let started = false;
  let lastRead: Pick<RegistryGroup, "read"> = {};
  const unreadOf = new Map<string, readonly string[]>();
  const unread = () => [...unreadOf.values()].flat();
  for await (const { source, group, complete } of mergeGroups(sources, stop)) {
    const { eventTimeMs } = group;
    const read = group.position === undefined ? {} : { read: group.position };
    const { changes, urgent } = registry.apply(group.inputs);
    const before = unread().length;
    unreadOf.set(source, group.unread ?? []);
    if (started && (changes.length > 0 || group.position !== undefined))
      yield { changes, urgent, eventTimeMs, source, ...read, snapshot: false, unread: [] };
    if (group.position !== undefined) lastRead = { read: group.position };
    if (!complete || (started && unread().length >= before)) continue;
    started = true;
    yield { changes: registry.state(), urgent: false, eventTimeMs, ...lastRead, snapshot: true, unread: unread() };
  }
}
