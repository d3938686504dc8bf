/** Changes that the controllers publish and xds-server applies. One key, one last value; a delete leaves a tombstone. */
import type { Config, ConfigKey } from "../config/config.ts";
import type { Endpoint, EndpointsKey } from "../endpoint/endpoint.ts";
import type { Service, ServiceKey } from "../service/service.ts";
import type { Workload, WorkloadKey } from "../workload/workload.ts";

interface Put<Type extends string, Key, Value> {
  readonly type: Type;
  readonly op: "put";
  readonly key: Key;
  readonly value: Value;
}
interface Delete<Type extends string, Key> {
  readonly type: Type;
  readonly op: "delete";
  readonly key: Key;
}

export type ConfigChange = Put<"config", ConfigKey, Config> | Delete<"config", ConfigKey>;
export type ServiceChange = Put<"service", ServiceKey, Service> | Delete<"service", ServiceKey>;
export type EndpointsChange = Put<"endpoints", EndpointsKey, readonly Endpoint[]> | Delete<"endpoints", EndpointsKey>;
export type WorkloadChange = Put<"workload", WorkloadKey, Workload> | Delete<"workload", WorkloadKey>;
export type Change = ConfigChange | ServiceChange | EndpointsChange | WorkloadChange;

/** Where and when a change began, carried beside it. */
export interface Cause {
  /** `config-controller`, `service-controller` … */
  readonly publisher: string;
  /** New with each start of the publisher. */
  readonly epoch: string;
  /** Counts the publisher's groups within an epoch. */
  readonly revision: number;
  /** The source that the publisher had it from: a directory, `kubernetes` …; absent for what several reported. */
  readonly source?: string;
  /** Account that wrote it over the API, as `namespace/name`; several when their writes travel together. */
  readonly caller?: string;
  /** When the source changed, milliseconds since the epoch. */
  readonly eventTimeMs: number;
  /** Endpoint removals and failures overtake bulk configuration. */
  readonly urgent?: boolean;
}

/** Changes that were written together and take effect together. */
export interface ChangeGroup {
  readonly changes: readonly Change[];
  readonly cause: Cause;
  /** Place in the fleet's sequence, equal on all replicas: everything up to it has come with this group and those before. */
  readonly position: number;
}

/** A set of changes as the fleet applied it, the same in the reports of all replicas. */
export interface AppliedSet {
  /** Place in the fleet's sequence. */
  readonly position: number;
  /** Number of changes. */
  readonly changes: number;
  /** The objects of the first of them, as `Kind/namespace/name` or `service …`. */
  readonly objects: readonly string[];
  /** The sources of the last of them, in order. */
  readonly causes: readonly Cause[];
}

/** Names what was written together, the same in every service: `config-controller/1a2b3c4d/17`. */
export function causeId({ publisher, epoch, revision }: Cause): string {
  return `${publisher}/${epoch}/${revision}`;
}

/** `config-controller 1a2b3c4d/17 from directory at 2026-01-01T00:00:00.000Z`: the publisher, its start, its group, its source. */
export function causeText({ publisher, epoch, revision, source, caller, eventTimeMs }: Cause): string {
  const from = `${source === undefined ? "" : ` from ${source}`}${caller === undefined ? "" : ` by ${caller}`}`;
  const at = eventTimeMs > 0 ? ` at ${new Date(eventTimeMs).toISOString()}` : "";
  return `${publisher} ${epoch.slice(0, 8)}/${revision}${from}${at}`;
}

/** The account that wrote over the API; else the source, such as a directory; else the service itself. */
export function writerOf({ publisher, source, caller }: Pick<Cause, "publisher" | "source" | "caller">): string {
  if (caller !== undefined) return `${caller} (API)`;
  return source ?? publisher;
}

/** One line: its object and its source. */
export function appliedText({ changes, objects, causes }: AppliedSet): string {
  const more = changes - objects.length;
  const about = [...objects, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return `${about}, by ${causes.map(causeText).join("; ")}`;
}
