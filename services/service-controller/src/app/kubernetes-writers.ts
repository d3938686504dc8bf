/** Objects written into Kubernetes, by one replica each: WorkloadEntries of machines, ServiceExports. */

import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import { type KubeApi, openKubeApi } from "@flotilla/kube-api";
import { duties, Leadership, leaseOfCluster } from "@flotilla/leadership";
import type { ClusterRegistries } from "@flotilla/registry";
import type { Logger } from "@flotilla/runtime";
import { ServiceExporter } from "../export/service-exporter.ts";
import { entryWriter, writeEntries } from "../register/show-machines.ts";
import type { RegistryService } from "../settings.ts";
import { multiClusterApi } from "../watch/open-registries.ts";
import type { Inputs } from "./inputs.ts";
import type { ProblemReports } from "./problem-reports.ts";

interface WriterOptions {
  readonly bus: Bus;
  readonly registry: ClusterRegistries;
  readonly inputs: Inputs;
  readonly problems: ProblemReports;
}

interface KubernetesWriters extends Disposable {
  /** Runs until the service stops. */
  run(): Promise<void>;
}

/** Undefined where there is no cluster, or nothing to write. */
export function openWriters(service: RegistryService, options: WriterOptions): KubernetesWriters | undefined {
  const { settings, version, log, stop } = service;
  const { bus, registry, inputs, problems } = options;
  const { autoRegistration, autoExport, systemNamespace: namespace, electsLeaders } = settings;
  if (inputs.cluster === undefined || !(autoRegistration || autoExport)) return undefined;
  const api = openKubeApi(inputs.cluster);
  const writer = autoRegistration ? entryWriter(api, () => registry.machineRecords(), settings, log) : undefined;
  const exporter = autoExport
    ? new ServiceExporter({
        services: () => registry.exportable(),
        apis: () => new Map(inputs.kubernetes.flatMap((source) => [...source.apis()])),
        ...{ multiClusterApi: multiClusterApi(settings), log, nowMs: Date.now },
      })
    : undefined;
  problems.add(writer, exporter);
  const common = { api, version, namespace, electsLeaders, log };
  return {
    run: async () => {
      await Promise.all([
        writer && writeEntries({ ...common, writer, bus }, stop),
        exporter && exportServices({ ...common, exporter }, stop),
      ]);
    },
    [Symbol.dispose]: () => api[Symbol.dispose](),
  };
}

interface ExportServicesOptions {
  /** Of the own cluster, where the lock is. */
  readonly api: KubeApi;
  readonly exporter: ServiceExporter;
  readonly version: string;
  readonly namespace: string;
  readonly electsLeaders: boolean;
  readonly log: Logger;
}

/**
 * ServiceExports of all clusters, written by one replica; istiods of the own cluster respect the same lock. Runs until
 * `stop` fires.
 */
async function exportServices(
  { api, exporter, version, namespace, electsLeaders, log }: ExportServicesOptions,
  stop: AbortSignal,
): Promise<void> {
  if (stop.aborted) return;
  const candidate = { holder: `service-controller-${randomUUID()}`, version, isDefaultRevision: true };
  const duty = duties.serviceExports;
  const lease = leaseOfCluster({ name: duty, candidate, api, namespace, electsLeaders });
  await new Leadership({ lease, duty, log }).run((until) => exporter.run(until), stop);
}
