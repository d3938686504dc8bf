/** Publishes the view, as the one replica that has the duty. */
import { attestEvery, createPublisher, recordPublished } from "@flotilla/bus";
import { PublishingDuty } from "@flotilla/leadership";
import type { ConfigKey } from "@flotilla/model";
import { aborted, delay, releaseMemory } from "@flotilla/runtime";
import { puts } from "../aggregate/merge-sources.ts";
import { type ConfigMetrics, declareDutyGauge, publishedCounter } from "../metrics.ts";
import { publishChanges, sendable } from "../publish/publish-changes.ts";
import type { ConfigService } from "../settings.ts";
import type { Connection } from "./connect.ts";
import type { View } from "./view.ts";

export interface PublishingParts {
  readonly connection: Connection;
  readonly view: View;
  readonly metrics: ConfigMetrics;
}

/** Memory used for the initial read is not needed again after this. */
const releaseAfterMs = 2_000;

/** Runs until the service stops. It is ready when the view is published, or that is the duty of another replica. */
export async function publishView(service: ConfigService, parts: PublishingParts): Promise<void> {
  const { log, stop } = service;
  const { connection, view, metrics } = parts;
  const canSeal = connection.seal !== undefined;
  const { isPublished } = view;
  const known = () => sendable(puts(view.store, isPublished), canSeal);
  const duty = createDuty(service, parts, known);
  const options = {
    ...{ publisher: duty, metrics, log, canSeal, nowMs: Date.now },
    onSnapshot: (keep: (key: ConfigKey) => boolean) =>
      duty.noteSnapshot(() => [known(), { keep: (key) => "kind" in key && keep(key) }]),
    isInView: (key: ConfigKey) => view.store.has(key) && isPublished(key),
  };
  await Promise.all([publishChanges(view.groups(), options, stop), duty.run(stop), markReady(service, duty)]);
}

function createDuty(
  { name, settings, metrics: registry, log, failures, tracer, introspection }: ConfigService,
  { connection, view, metrics }: PublishingParts,
  current: () => ReturnType<typeof sendable>,
): PublishingDuty {
  const { bus, seal } = connection;
  const onPublished = recordPublished(tracer, publishedCounter(metrics));
  const publisher = createPublisher({ bus, publisher: name, seal, log, nowMs: Date.now, current, onPublished });
  introspection?.page("/queues", () => ({
    openPublishCalls: publisher.openCalls,
    lastSequence: publisher.lastSequence,
  }));
  const onRepaired = (count: number) => metrics.publishedAgain.add(count);
  const attesting = { bus, publisher, everyMs: settings.digestIntervalMs, log, nowMs: Date.now, onRepaired };
  const duty = new PublishingDuty({
    ...{ bus, publisher, controller: name, holder: settings.podName, log, failures },
    whilePublishing: async (until) => {
      await Promise.all([attestEvery(attesting, until), view.issuerKeys.lead(until)]);
    },
  });
  declareDutyGauge(registry, () => duty.isOurs);
  return duty;
}

async function markReady({ health, stop }: ConfigService, duty: PublishingDuty): Promise<void> {
  await Promise.race([duty.settled, aborted(stop)]);
  if (stop.aborted) return;
  health.markReady();
  await delay(releaseAfterMs, stop);
  if (!stop.aborted) releaseMemory();
}
