/** The record of a stream, for debug pages, receipts and other stages; the stream alone writes it. */
import type { AppliedSet, Proxy } from "@flotilla/model";
import type { Form, NameSet, Rejection, Resource, ResourceSet } from "@flotilla/xds";

export interface StreamRecord {
  /** Unique within the process. */
  readonly id: string;
  readonly proxy: Proxy;
  readonly identities: readonly string[];
  readonly peer: string;
  readonly form: Form;
  readonly connectedAtMs: number;
  /** It has asked for nothing of what proxies ask for. */
  isIdle(): boolean;
  /** As of now; the same map while nothing changes, and for streams to which the same happened. */
  types(): ReadonlyMap<string, TypeRecord>;
  /** The version of the type that the client took last; much cheaper than to ask `types`. */
  acknowledgedVersion(typeUrl: string): string | undefined;
  /**
   * The client has accepted or refused everything that follows from the changes up to this position in the fleet's
   * sequence. A lower bound while something is under way.
   */
  answeredPosition(): number;
  /** The results that what the client has is made of; the identical list for streams that watch the same. */
  watched(): readonly object[];
}

export interface TypeRecord {
  /** "*" or the number of names asked for. */
  readonly subscribed: "*" | number;
  /** The names asked for; none for everything. */
  names(): NameSet;
  /** Undefined also when the client had all there is when it connected. */
  readonly sent: Receipt | undefined;
  /** Without a nonce: what the client had when it connected. */
  readonly acknowledged: Receipt | undefined;
  readonly rejection: Rejection | undefined;
  /** Something is to be sent that has not been. */
  readonly isDue: boolean;
}

export interface Receipt {
  readonly nonce: string;
  readonly version: string;
  readonly atMs: number;
  /** Position in the fleet's sequence of changes that the resources reflect. */
  readonly position: number;
  /** The last set of changes that made the type stale; undefined for what was sent because the client asked. */
  readonly applied: AppliedSet | undefined;
  /** Of the message. */
  readonly resources: number;
  readonly bytes: number;
}

/** Streams that make the same step share the sets. */
interface SentChange {
  readonly before: ResourceSet;
  /** Position that `before` reflected when it was sent. */
  readonly from: number;
  readonly after: ResourceSet;
  /** Of `after`: new ones and those with another version; computed once for all streams. */
  readonly changed: () => readonly Resource[];
}

/** Called by the streams as it happens; must not throw. */
export interface StreamObserver {
  opened?(stream: StreamRecord): void;
  closed?(stream: StreamRecord, reason: string): void;
  /** `change`: against what the client had before, if it had something. */
  sent?(stream: StreamRecord, typeUrl: string, receipt: Receipt, change: SentChange | undefined): void;
  acknowledged?(stream: StreamRecord, typeUrl: string, receipt: Receipt): void;
  /** `names`: the resources to blame, as far as they are known. */
  rejected?(stream: StreamRecord, typeUrl: string, rejection: Rejection, names: readonly string[]): void;
  health?(stream: StreamRecord, healthy: boolean, message: string): void;
}
