/** The session of a caller, and the first view of the control plane. */
import type { Partially, ServiceName } from "./common.ts";
import type { RejectionGroup } from "./proxies.ts";

/** Body of `POST /api/v1/session`; answered with 201 and a cookie that scripts cannot read. */
export interface SignIn {
  /** As `flotilla token` prints it. It is kept in the memory of the server only. */
  readonly token: string;
}

/** The signed-in account. `GET /api/v1/session` answers 401 `no-session` without one. */
export interface SessionInfo {
  /** `namespace/serviceAccount` of the token. */
  readonly account: string;
  /** False: write actions are refused, and the page offers none. */
  readonly mayWrite: boolean;
  /** Namespace that the caller sees; absent for callers who see the whole mesh. */
  readonly onlyNamespace?: string;
  /** When the token ends, and the session with it. */
  readonly tokenExpiresAt?: string;
  /** The session ends after so long without a request; open event streams are none. */
  readonly idleMs: number;
  /** Of the console. */
  readonly version: string;
}

/** `GET /api/v1/overview` */
export interface Overview extends Partially {
  readonly services: readonly ReplicaState[];
  /** The latest generation that config-controller has published; absent while it is away. */
  readonly generation?: number;
  readonly proxies: FleetCounts;
  readonly objects: ObjectCounts;
  /** Groups of objects that proxies reject now, the latest five; `rejectionCount` counts all. */
  readonly rejections: readonly RejectionGroup[];
  readonly rejectionCount: number;
  readonly problems: readonly Problem[];
  readonly problemCounts: Readonly<Record<Severity, number>>;
  readonly pushes: PushFigures;
}

/** A replica of a service. */
export interface ReplicaState {
  readonly service: ServiceName;
  readonly replica: string;
  readonly state: "ready" | "not-ready" | "away";
  /** Names of conditions that are not well, or why it is away. */
  readonly detail: string;
  readonly version?: string;
  readonly startedAt?: string;
  /** Of xds-server: the generation that it serves. */
  readonly generation?: number;
  /** Of xds-server: proxies that are connected to it. */
  readonly proxies?: number;
}

/** Proxies of the whole fleet. */
export interface FleetCounts {
  readonly total: number;
  readonly byState: Readonly<Record<"synced" | "sending" | "rejected", number>>;
  readonly byType: Readonly<Record<string, number>>;
  readonly byVersion: Readonly<Record<string, number>>;
  readonly byReplica: Readonly<Record<string, number>>;
}

/** Objects of the configuration by how far they have come; see ObjectRow.state. */
export interface ObjectCounts {
  readonly total: number;
  readonly live: number;
  readonly arriving: number;
  readonly warning: number;
  readonly rejected: number;
  readonly refused: number;
}

/** `error`: something is not in force or refused. `warning`: it is in force and doubtful. `info`: it has no effect. */
export type Severity = "error" | "warning" | "info";

/** Something that an operator should look at; errors first, 50 at most. */
export interface Problem {
  readonly severity: Severity;
  readonly service: ServiceName;
  /** `Kind/namespace/name`, a file, a shard. */
  readonly object?: string;
  readonly field?: string;
  readonly reason: string;
}

/** Pushes over the last hour, or since the console started. */
export interface PushFigures {
  /** Oldest first, one for each `stepMs`. */
  readonly samples: readonly PushSample[];
  readonly stepMs: number;
  /** Time from an event to its acknowledgement over all samples; absent without pushes. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Messages that changed nothing for the proxy, 0 to 1; absent without pushes. */
  readonly wastedShare?: number;
}

/** Pushes between two readings of the replicas' metrics. */
export interface PushSample {
  readonly at: string;
  readonly pushes: number;
  readonly bytes: number;
  readonly rejections: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
}
