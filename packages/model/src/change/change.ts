/** What the controllers publish and xds-server applies. One key, one last value; a delete leaves a tombstone. */
import type { Config, ConfigKey } from "../config/config.ts";
import type { Endpoint, EndpointsKey } from "../endpoint/endpoint.ts";
import type { Service, ServiceKey } from "../service/service.ts";

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
export type Change = ConfigChange | ServiceChange | EndpointsChange;

/** Where and when a change began, carried beside it. */
export interface Cause {
  /** `config-controller`, `service-controller` … */
  readonly publisher: string;
  /** New with each start of the publisher. */
  readonly epoch: string;
  /** Counts the publisher's groups within an epoch. */
  readonly revision: number;
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
