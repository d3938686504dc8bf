/** Hands what changes in the view to the bus, group by group; the snapshot first. */
import type { ChangePublisher } from "@flotilla/leadership";
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import { type Logger, orAborted } from "@flotilla/runtime";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import type { ConfigMetrics } from "../metrics.ts";

export interface PublishOptions {
  /** Publishes, or waits for its turn: then 0 are told. */
  readonly publisher: ChangePublisher;
  readonly metrics: ConfigMetrics;
  readonly log: Logger;
  /** False: Secrets are held back, for they may not travel in the open. */
  readonly canSeal: boolean;
  readonly nowMs: () => number;
  /** Told of each snapshot: everything is known from then on. `keep`: what is in force although it is not in the view. */
  readonly onSnapshot: (keep: (key: ConfigKey) => boolean) => Promise<void>;
}

export async function publishChanges(
  groups: AsyncIterable<AggregateGroup>,
  { publisher, metrics, log, canSeal, nowMs, onSnapshot }: PublishOptions,
  stop: AbortSignal,
): Promise<void> {
  for await (const { changes, eventTimeMs, source, snapshot, keep } of groups) {
    const sent = sendable(changes, canSeal);
    if (snapshot) {
      await orAborted(onSnapshot(keep), stop);
      count(sent, metrics);
      log.info("everything is known", { objects: sent.length });
    } else {
      const occasion = { eventTimeMs, ...(source !== undefined && { source }) };
      const published = await orAborted(publisher.publish(sent, occasion), stop);
      count(sent, metrics);
      metrics.publishSeconds.observe((nowMs() - eventTimeMs) / 1000);
      if (published > 0) log.info("published", { changes: published, source, first: keyOf(sent[0]) });
    }
    for (const done of [changes, sent]) done.length = 0;
  }
}

/** Secrets travel only where they can be sealed. */
export function sendable(changes: ConfigChange[], canSeal: boolean): ConfigChange[] {
  return canSeal ? changes : changes.filter(({ key }) => key.kind !== "Secret");
}

function count(changes: readonly ConfigChange[], metrics: ConfigMetrics): void {
  const puts = changes.filter(({ op }) => op === "put").length;
  if (puts > 0) metrics.published.add(puts, { op: "put" });
  if (puts < changes.length) metrics.published.add(changes.length - puts, { op: "delete" });
}

function keyOf(change: ConfigChange | undefined): string | undefined {
  return change === undefined ? undefined : `${change.key.kind}/${change.key.namespace}/${change.key.name}`;
}
