/**
 * `GET /api/v1/events`: server-sent events. `event:` is the type, `data:` the JSON of the interface below, `id:` counts the events of
 * the console. A comment comes every 15 s. A client that fell behind gets `resync` in place of what it missed; so does one that connects again with a
 * `Last-Event-ID` that is no longer kept. 429 `too-many` when the console has as many streams as it allows.
 */
import type { ObjectName, ServiceName } from "./common.ts";

/** Type of the event → its data. */
export interface ConsoleEvents {
  /** First on every stream: what holds now. */
  readonly hello: HelloEvent;
  readonly generation: GenerationEvent;
  readonly rejections: RejectionsEvent;
  readonly services: ServicesEvent;
  readonly fleet: FleetEvent;
  readonly objects: ObjectsEvent;
  /** Something was missed: read again what is shown. */
  readonly resync: Readonly<Record<string, never>>;
  /** The session ends: sign in again. */
  readonly "session-ended": { readonly reason: "idle" | "token-expired" | "signed-out" };
}

export interface HelloEvent {
  readonly generation?: number;
  readonly rejections: number;
  readonly services: readonly ServiceEventState[];
}

/** A new generation was published. */
export interface GenerationEvent {
  readonly generation: number;
  readonly at: string;
  readonly by: string;
  readonly changes: number;
  /** The first 20. */
  readonly objects: readonly { readonly object: ObjectName; readonly op: "created" | "changed" | "deleted" }[];
}

/** The objects that proxies reject are others than before. */
export interface RejectionsEvent {
  /** Groups in all. */
  readonly count: number;
  readonly added: readonly {
    readonly object?: ObjectName;
    readonly type: string;
    readonly message: string;
    readonly proxyCount: number;
  }[];
  /** Objects that are rejected no longer. */
  readonly cleared: readonly ObjectName[];
}

/** Replicas came, went or started anew, or their readiness changed. */
export interface ServicesEvent {
  /** Those that changed. */
  readonly services: readonly ServiceEventState[];
}

export interface ServiceEventState {
  readonly service: ServiceName;
  readonly replica: string;
  readonly state: "ready" | "not-ready" | "away";
}

/** Proxies connected, left, or reached another state; at most one event in two seconds. */
export interface FleetEvent {
  readonly total: number;
  readonly byState: Readonly<Record<"synced" | "sending" | "rejected", number>>;
}

/** How far objects have come that are not live everywhere: one that is absent now was listed before and is live. */
export interface ObjectsEvent {
  readonly open: readonly {
    readonly object: ObjectName;
    readonly state: string;
    readonly live: number;
    readonly concerned: number;
  }[];
  readonly settled: readonly ObjectName[];
}
