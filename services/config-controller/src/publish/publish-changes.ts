/** Hands what changes in the view to the bus, group by group; the snapshot first. */
import type { Kept, Occasion } from "@flotilla/bus";
import type { Change, ConfigChange } from "@flotilla/model";
import { type Logger, orAborted } from "@flotilla/runtime";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import type { ConfigMetrics } from "../metrics.ts";

/** The publisher of `@flotilla/bus`. */
export interface ChangePublisher {
  synchronize(state: readonly Change[], occasion?: Occasion & Kept): Promise<number>;
  publish(changes: readonly Change[], occasion?: Occasion): Promise<number>;
}

export interface PublishOptions {
  readonly publisher: ChangePublisher;
  readonly metrics: ConfigMetrics;
  readonly log: Logger;
  /** False: Secrets are held back, for they may not travel in the open. */
  readonly canSeal: boolean;
  readonly nowMs: () => number;
  /** After the snapshot is published. */
  readonly onReady: () => void;
}

export async function publishChanges(
  groups: AsyncIterable<AggregateGroup>,
  { publisher, metrics, log, canSeal, nowMs, onReady }: PublishOptions,
  stop: AbortSignal,
): Promise<void> {
  for await (const { changes, eventTimeMs, source, snapshot, keep } of groups) {
    const sent = sendable(changes, canSeal);
    const publishing = snapshot
      ? publisher.synchronize(sent, { eventTimeMs, keep: (key) => "kind" in key && keep(key) })
      : publisher.publish(sent, { eventTimeMs, ...(source !== undefined && { source }) });
    const published = await orAborted(publishing, stop);
    count(sent, metrics);
    if (snapshot) {
      log.info("snapshot published", { objects: sent.length, changes: published });
      onReady();
    } else {
      metrics.publishSeconds.observe((nowMs() - eventTimeMs) / 1000);
      log.info("published", { changes: published, source, first: keyOf(sent[0]) });
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
