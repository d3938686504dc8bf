/** Publishes the registry, as the one replica that has the duty. */
import { attestEvery, type Bus, createPublisher, recordPublished } from "@flotilla/bus";
import { PublishingDuty } from "@flotilla/leadership";
import type { Change } from "@flotilla/model";
import type { ClusterRegistries } from "@flotilla/registry";
import { aborted, keepRunning } from "@flotilla/runtime";
import { declareDutyGauge, publishedCounter, type RegistryMetrics } from "../metrics.ts";
import { Progress } from "../publish/progress.ts";
import { isUnread, publishChanges, runRegistry } from "../publish/publish-changes.ts";
import type { RegistryService } from "../settings.ts";
import type { Inputs } from "./inputs.ts";

export interface PublishingOptions {
  readonly bus: Bus;
  readonly registry: ClusterRegistries;
  readonly inputs: Inputs;
  readonly metrics: RegistryMetrics;
}

export interface Publishing {
  /** The registry is published, or that is the duty of another replica; also when the service stops. */
  readonly settled: Promise<void>;
  /** Runs until the service stops. */
  run(): Promise<void>;
}

export function createPublishing(service: RegistryService, options: PublishingOptions): Publishing {
  const { log, stop } = service;
  const { registry, inputs, metrics } = options;
  const progress = new Progress();
  const duty = createDuty(service, options, progress);
  const onSnapshot = (unread: readonly string[]) =>
    duty.noteSnapshot(() => {
      const old = inputs.kubernetes.flatMap((source) => source.old());
      const isOld = (key: Change["key"]) => isUnread(key, old);
      return [registry.state(), { keep: (key) => isUnread(key, unread) || isOld(key), isOld }];
    });
  const onRead = (position: number) => progress.note(position);
  const publishing = { publisher: duty, metrics, log, nowMs: Date.now, onSnapshot, onRead };
  return {
    settled: Promise.race([duty.settled, aborted(stop)]),
    run: async () => {
      await Promise.all([
        duty.run(stop),
        publishChanges(runRegistry(registry, inputs.sources, stop), publishing, stop),
      ]);
    },
  };
}

function createDuty(
  { name, settings, metrics: registered, log, failures, tracer, introspection }: RegistryService,
  { bus, metrics }: PublishingOptions,
  progress: Progress,
): PublishingDuty {
  const onPublished = recordPublished(tracer, publishedCounter(metrics));
  const publisher = createPublisher({ bus, publisher: name, seal: undefined, log, nowMs: Date.now, onPublished });
  introspection?.page("/queues", () => ({
    openPublishCalls: publisher.openCalls,
    lastSequence: publisher.lastSequence,
  }));
  const onRepaired = (count: number) => metrics.publishedAgain.add(count);
  const attesting = { bus, publisher, everyMs: settings.digestIntervalMs, log, nowMs: Date.now, onRepaired };
  const duty = new PublishingDuty({
    ...{ bus, publisher, controller: name, holder: settings.podName, log, failures },
    whilePublishing: async (until) => {
      const report = (attempt: AbortSignal) => progress.report({ bus, publisher, log }, attempt);
      const reporting = { what: "progress reports", log, failures, random: Math.random };
      await Promise.all([attestEvery(attesting, until), keepRunning(report, reporting, until)]);
    },
  });
  declareDutyGauge(registered, () => duty.isOurs);
  return duty;
}
