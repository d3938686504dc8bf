/** Hands services and endpoints to the bus, group by group; the snapshot first. */
import type { ChangePublisher } from "@flotilla/leadership";
import { type Change, parseShard } from "@flotilla/model";
import { type Logger, orAborted } from "@flotilla/runtime";
import type { RegistryMetrics } from "../metrics.ts";
import type { RegistryGroup } from "../registry/run-registry.ts";

export interface PublishOptions {
  /** Publishes, or waits for its turn: then 0 are published. */
  readonly publisher: ChangePublisher;
  /** Called after each snapshot: what is known from then on. */
  readonly onSnapshot: (unread: readonly string[]) => Promise<void>;
  /** What follows from the configuration up to this place in the fleet's sequence is published, or another's to publish. */
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
      log.info("everything is known", { values: changes.length });
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

/** What a registry that could not be read has published before is the best there is to know. */
export function isUnread(key: Change["key"], unread: readonly string[]): boolean {
  if (!("shard" in key)) return false;
  const { registry } = parseShard(key.shard);
  return unread.includes(key.shard) || unread.includes(`${registry}/*`);
}
