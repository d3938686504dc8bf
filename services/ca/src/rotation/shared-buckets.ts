/** The state, the reports and the evidence that the replicas of ca share on the bus for a rotation, and the lease of the one that leads. */
import { randomUUID } from "node:crypto";
import { trustReportBucket, trustReportTtlMs } from "@flotilla/auth";
import { type Bus, type KeyValue, Lease } from "@flotilla/bus";
import type { GatheredEvidence } from "./gathered-evidence.ts";

export interface Shared {
  readonly bus: Bus;
  /** The state of the rotation, and the records of replicas. */
  readonly values: KeyValue;
  /** The roots that proxies trust, by replica of xds-server. */
  readonly reports: KeyValue;
  /** Of the replica that moves the rotation on. */
  readonly lease: Lease;
  readonly recordedSinceMs: number | undefined;
}

interface OpenOptions {
  /** Of this replica. */
  readonly name: string;
  readonly nowMs: () => number;
  /** Since when the present signing certificate has been valid. */
  readonly issuedSinceMs: number;
}

const leaseMs = 15_000;

/** @throws what the bus throws */
export async function openShared(
  bus: Bus,
  evidence: GatheredEvidence,
  { name, nowMs, issuedSinceMs }: OpenOptions,
): Promise<Shared> {
  const values = await bus.keyValue("ca");
  const leases = await bus.keyValue("ca-lease", { ttlMs: leaseMs });
  const reports = await bus.keyValue(trustReportBucket, { ttlMs: trustReportTtlMs });
  const clocks = { nowMs: () => performance.now(), wallClockMs: nowMs };
  const holder = `${name} ${randomUUID()}`;
  const lease = new Lease({ values: leases, key: "lead", holder, ttlMs: leaseMs, ...clocks });
  const recordedSinceMs = await evidence.readRecordedSince(values, issuedSinceMs);
  return { bus, values, reports, lease, recordedSinceMs };
}
