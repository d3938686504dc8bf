/** The parts that determine the status of objects, put together. */
import type { Bus } from "@flotilla/bus";
import type { ConfigKey, Provenance } from "@flotilla/model";
import type { HttpHandler, Logger } from "@flotilla/runtime";
import type { SourceProblem } from "@flotilla/sources";
import type { Conflict } from "../aggregate/aggregate-store.ts";
import type { PublishedConfig } from "../follow/published-config.ts";
import { AnalysisFindings } from "./analysis-findings.ts";
import { ChangedObjects } from "./changed-objects.ts";
import { Distributions } from "./distributions.ts";
import type { StatusWriterOptions } from "./kubernetes/status-writer.ts";
import { ObjectStatuses, RegistryProgress, statusKey } from "./object-status.ts";
import { objectsPage } from "./status-pages.ts";

export interface OpenStatusOptions {
  readonly bus: Bus;
  readonly published: PublishedConfig;
  readonly refused: () => readonly SourceProblem[];
  readonly conflicts: () => readonly Conflict[];
  /** Where an object in force is read from now. */
  readonly placeOf: (key: ConfigKey) => Provenance | undefined;
  /** Enables the analysis of objects beside each other, and limits its number of Services. */
  readonly analysis: { readonly isOn: boolean; readonly maxServices: number };
  readonly log: Logger;
}

/** The inputs needed to write the status of objects somewhere. */
export type StatusFeed = Pick<StatusWriterOptions, "statusOf" | "hasReports" | "takeChanged" | "onChanged">;

export interface RunningStatus {
  readonly page: HttpHandler;
  readonly feed: StatusFeed;
  readonly statuses: ObjectStatuses;
  readonly distributions: Distributions;
  /** The rejected objects may have changed. */
  noteRefused(): void;
  /** Runs until `stop` fires. */
  run(stop: AbortSignal): Promise<void>;
}

export function openStatus({
  bus,
  published,
  refused,
  conflicts,
  placeOf,
  analysis: settings,
  log,
}: OpenStatusOptions): RunningStatus {
  const distributions = new Distributions({ nowMs: Date.now });
  const progress = new RegistryProgress();
  const { isOn, maxServices } = settings;
  const analysis = isOn ? new AnalysisFindings({ published, maxServices, log }) : undefined;
  const statuses = new ObjectStatuses({ published, distributions, progress, refused, conflicts, placeOf, analysis });
  const changed = new ChangedObjects({ published, distributions, refused });
  return {
    page: objectsPage(statuses, () => published.position),
    ...{ statuses, distributions },
    feed: {
      statusOf: async (object) => {
        const key = statusKey(object);
        if (key !== undefined) await statuses.prepare(key);
        return key && statuses.of(key);
      },
      hasReports: () => distributions.hasReports,
      takeChanged: () => changed.take(),
      onChanged: (listener) => changed.onChanged(listener),
    },
    noteRefused: () => changed.compare(),
    run: async (stop) => {
      const onStep = () => changed.compare();
      const onFound = (objects: ReadonlySet<string>) => changed.note(objects);
      await Promise.all([
        distributions.watch(bus, stop),
        progress.watch(bus, onStep, stop),
        analysis?.run(onFound, stop),
        analysis?.followServices(bus, stop),
      ]);
    },
  };
}
