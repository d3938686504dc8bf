/** ServiceExports of all clusters, written by one replica; istiods of the own cluster respect the same lock. */
import { randomUUID } from "node:crypto";
import type { KubeApi } from "@flotilla/kube-api";
import { duties, Leadership, leaseOfCluster } from "@flotilla/leadership";
import type { Logger } from "@flotilla/runtime";
import type { ServiceExporter } from "./service-exporter.ts";

export interface ExportServicesOptions {
  /** Of the own cluster, where the lock is. */
  readonly api: KubeApi;
  readonly exporter: ServiceExporter;
  readonly version: string;
  readonly namespace: string;
  readonly log: Logger;
}

/** Runs until `stop` fires. */
export async function exportServices(
  { api, exporter, version, namespace, log }: ExportServicesOptions,
  stop: AbortSignal,
): Promise<void> {
  if (stop.aborted) return;
  const candidate = { holder: `service-controller-${randomUUID()}`, version, isDefaultRevision: true };
  const duty = duties.serviceExports;
  const lease = leaseOfCluster({ name: duty, candidate, api, namespace });
  await new Leadership({ lease, duty, log }).run((until) => exporter.run(until), stop);
}
