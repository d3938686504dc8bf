/** Registered machines as WorkloadEntries of Kubernetes, written by one replica. */
import { randomUUID } from "node:crypto";
import type { Bus } from "@flotilla/bus";
import type { KubeApi } from "@flotilla/kube-api";
import { duties, dutyLease, Leadership } from "@flotilla/leadership";
import { registrationReportTtlMs } from "@flotilla/model";
import type { RegistrationRecords } from "@flotilla/registry";
import type { Logger } from "@flotilla/runtime";
import { EntryWriter } from "./write-entries.ts";

export function entryWriter(
  api: KubeApi,
  records: () => RegistrationRecords,
  { machineGraceMs }: { readonly machineGraceMs: number },
  log: Logger,
): EntryWriter {
  const settleMs = registrationReportTtlMs + machineGraceMs;
  return new EntryWriter({
    api,
    records,
    settleMs,
    graceMs: machineGraceMs,
    sweepMs: 10 * machineGraceMs,
    log,
    nowMs: Date.now,
  });
}

export interface WriteEntriesOptions {
  readonly api: KubeApi;
  readonly writer: EntryWriter;
  readonly bus: Bus;
  readonly version: string;
  readonly namespace: string;
  readonly electsLeaders?: boolean;
  readonly log: Logger;
}

/** Runs until `stop` fires. All replicas would write the same. */
export async function writeEntries(
  { api, writer, bus, version, namespace, electsLeaders = true, log }: WriteEntriesOptions,
  stop: AbortSignal,
): Promise<void> {
  if (stop.aborted) return;
  const candidate = { holder: `service-controller-${randomUUID()}`, version, isDefaultRevision: true };
  const duty = duties.workloadEntries;
  const lease = await dutyLease({ name: duty, candidate, cluster: { api, namespace }, bus, electsLeaders });
  await new Leadership({ lease, duty, log }).run((until) => writer.run(until), stop);
}
