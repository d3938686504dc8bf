/** Machines outside of Kubernetes that ask to be registered, as replicas of xds-server report them to service-controller. */
import type { Labels } from "../config/selector.ts";
import { decodeShape, flag, listOf, number, objectOf, recordOf, text } from "../json/shape.ts";

/** A workload, whatever its address and whichever replica it is connected to. */
export interface RegisteredWorkloadKey {
  readonly namespace: string;
  /** The WorkloadGroup it asks to be part of; empty for one that has a WorkloadEntry already. */
  readonly group: string;
  readonly network: string;
  /** The id that the proxy reports. */
  readonly instance: string;
}

export interface RegisteredWorkload {
  readonly key: RegisteredWorkloadKey;
  /** The WorkloadEntry of its namespace that a user wrote for it: its health reports are about that one. */
  readonly entry?: string;
  readonly address: string;
  /** `region/zone/subzone`, empty when it reports none. */
  readonly locality: string;
  readonly labels: Labels;
  /** Proven SPIFFE identities. */
  readonly identities: readonly string[];
  readonly connectedAtMs: number;
  /** On no replica since; it stays registered for a grace. Never part of a report. */
  readonly disconnectedAtMs?: number;
  /** Its last report of its own health; absent before the first. */
  readonly health?: { readonly healthy: boolean; readonly message: string; readonly atMs: number };
}

/** A bucket with a value for each replica of xds-server: all machines that are connected to it. */
export const registrationReportBucket = "machines";
/** A replica that has not reported again for this long is no more. */
export const registrationReportTtlMs = 9_000;

export function registeredWorkloadKeyText({ namespace, group, network, instance }: RegisteredWorkloadKey): string {
  return `${namespace}/${group}/${network}/${instance}`;
}

/** One key may be claimed by callers of different proofs, of which only one can be the machine. */
export type RegisteredWorkloadClaim = Pick<RegisteredWorkload, "key" | "identities">;

export function registeredWorkloadClaimText({ key, identities }: RegisteredWorkloadClaim): string {
  return [registeredWorkloadKeyText(key), ...[...identities].sort()].join(" ");
}

export function encodeRegisteredWorkloads(machines: readonly RegisteredWorkload[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(machines));
}

const shape = listOf(
  objectOf(
    {
      key: objectOf({ namespace: text, group: text, network: text, instance: text }),
      address: text,
      locality: text,
      labels: recordOf(text),
      identities: listOf(text),
      connectedAtMs: number,
    },
    { entry: text, health: objectOf({ healthy: flag, message: text, atMs: number }) },
  ),
);

/** @throws RangeError that names the field, SyntaxError, TypeError */
export function decodeRegisteredWorkloads(value: Uint8Array): readonly RegisteredWorkload[] {
  return decodeShape(value, shape);
}
