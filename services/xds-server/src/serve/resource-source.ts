/**
 * The interface of the streams to the stages before them: for one proxy, the resources of a type as they are now, and a notification when
 * they may have changed. Declared here, implemented over the snapshot.
 */
import type { AppliedSet, Proxy } from "@flotilla/model";
import type { NameSet, ResourceSet } from "@flotilla/xds";
import type { Urgency } from "../push/push-queue.ts";

export type { Urgency };

export interface ResourceSource {
  /**
   * Once per stream, when its node is known and its caller proven. `onStale` is called when a set that
   * `resources` returned may have another answer now; at most once per type until it is asked again.
   * It may be called from within the change that caused it, so it must not call back at once.
   */
  open(client: ClientIdentity, onStale: (typeUrl: string, urgency: Urgency) => void): ProxySession;
  /** Position in the fleet's sequence of changes that answers now reflect; equal on all replicas. */
  readonly position: number;
  /** The changes applied last: within `onStale`, the ones that made it stale. */
  readonly latest: AppliedSet | undefined;
}

export interface ClientIdentity {
  readonly proxy: Proxy;
  /** The caller's proven SPIFFE identities; empty on a plaintext port that asks for no proof. */
  readonly identities: readonly string[];
  /** The port has no TLS: nothing secret is sent. */
  readonly isPlaintext?: boolean;
}

/** Sessions of proxies with equal views return the identical sets: streams share messages by that. */
export interface ProxySession {
  /**
   * All resources of the type (`names` undefined) or those of the names that exist. The identical
   * object as long as nothing changed; `names.key` is fit for a query argument. Undefined when the type
   * is not served to this proxy: then nothing is answered. The last call per type is what is watched.
   */
  resources(typeUrl: string, names: NameSet | undefined): ResourceSet | undefined;
  /** The results that what it has is made of; the identical list for sessions that watch the same. */
  watched(): readonly object[];
  /** The client has unsubscribed from the type. */
  forget(typeUrl: string): void;
  close(): void;
}
