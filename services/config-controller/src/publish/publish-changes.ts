/** Hands what changes in the view to the bus, group by group; the snapshot first. */
import type { ChangePublisher } from "@flotilla/leadership";
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import { type Logger, orAborted } from "@flotilla/runtime";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import type { ConfigMetrics } from "../metrics.ts";

export interface PublishOptions {
  /** Publishes, or waits for its turn: then 0 are published. */
  readonly publisher: ChangePublisher;
  readonly metrics: Pick<ConfigMetrics, "publishSeconds">;
  readonly log: Logger;
  /** False: Secrets are held back, for they may not travel in the open. */
  readonly canSeal: boolean;
  readonly nowMs: () => number;
  /** Called after the first snapshot: everything is known from then on. `keep`: objects that stay in force although they are not in the view. */
  readonly onSnapshot: (keep: (key: ConfigKey) => boolean) => Promise<void>;
  /** True where the view has it now. */
  readonly isInView: (key: ConfigKey) => boolean;
}

export async function publishChanges(
  groups: AsyncIterable<AggregateGroup>,
  { publisher, metrics, log, canSeal, nowMs, onSnapshot, isInView }: PublishOptions,
  stop: AbortSignal,
): Promise<void> {
  let isKnown = false;
  for await (const group of groups) {
    if (group.snapshot && isKnown) {
      // Its changes were published before it; left are keys that a source could not read until now.
      const { keep } = group;
      const isThere = (key: ConfigKey) => (isInView(key) && isSendable(key.kind, canSeal)) || keep(key);
      const deletes = await orAborted(
        publisher.prune((key) => "kind" in key && isThere(key)),
        stop,
      );
      if (deletes > 0) log.info("published", { deletes });
      continue;
    }
    if (group.snapshot) {
      isKnown = true;
      await orAborted(onSnapshot(group.keep), stop);
      const kinds = [...group.counts].filter(([kind]) => isSendable(kind, canSeal));
      const objects = kinds.reduce((sum, [, objectsOfKind]) => sum + objectsOfKind, 0);
      log.info("initial sync complete", { objects });
      continue;
    }
    const { changes, eventTimeMs, source, caller } = group;
    const sent = changes.filter(({ key }) => isSendable(key.kind, canSeal));
    const published = await orAborted(
      publisher.publish(sent, { eventTimeMs, source, ...(caller !== undefined && { caller }) }),
      stop,
    );
    if (published > 0) {
      metrics.publishSeconds.observe((nowMs() - eventTimeMs) / 1000);
      log.info("published", { changes: published, source, first: keyOf(sent[0]) });
    }
    for (const done of [changes, sent]) done.length = 0;
  }
}

/** Those of them that may travel. */
export function* sendable(changes: Iterable<ConfigChange>, canSeal: boolean): Generator<ConfigChange, void, undefined> {
  for (const change of changes) if (isSendable(change.key.kind, canSeal)) yield change;
}

/** Secrets travel only where they can be sealed. */
function isSendable(kind: string, canSeal: boolean): boolean {
  return canSeal || kind !== "Secret";
}

function keyOf(change: ConfigChange | undefined): string | undefined {
  return change === undefined ? undefined : `${change.key.kind}/${change.key.namespace}/${change.key.name}`;
}
