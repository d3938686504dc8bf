/** The interface of a publisher: what it is given, and what it does. `keyed-publisher.ts` has the implementation. */
import type { Cause, Change } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import type { Seal } from "./seal.ts";

/** Bus, name and seal of a publisher; two publishers never write the same key. */
export interface PublisherOptions {
  readonly bus: Bus;
  /** `config-controller`, `service-controller` … */
  readonly publisher: string;
  readonly seal: Seal | undefined;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** How long deletes are kept for readers that were away; seven days unless given. */
  readonly keepDeletesMs?: number;
  /**
   * Everything that the source has now, as `synchronize` would be given it: asked for when the stream was lost. Without it the
   * publisher remembers each change itself.
   */
  readonly current?: () => Iterable<Change>;
  /** Called with a change that is too large to publish; the published version of its key stays in force. */
  readonly onRefused?: (change: Change, reason: string) => void;
  /** Called with what the stream has taken, repairs included. */
  readonly onPublished?: (changes: readonly Pick<Change, "type" | "op">[], cause: Cause) => void;
}

/** The cause of a change, and whether it goes ahead of others. */
export interface PublishOptions {
  /** When the source changed; now, when the source cannot determine. */
  readonly eventTimeMs?: number;
  readonly urgent?: boolean;
  /** The source of the changes, if it was one. */
  readonly source?: string;
  /** Account that wrote it over the API. */
  readonly caller?: string;
}

/** Keys that stay although the state does not name them: their source could not be read. */
export interface Kept {
  readonly keep?: (key: Change["key"]) => boolean;
  /** The stream's values of these keys stay: the state that is published may be older. */
  readonly isOld?: (key: Change["key"]) => boolean;
}

/** Publishes what differs from the stream; calls run one after the other. */
export interface Publisher {
  /** Place of the last change that was published in the fleet's sequence; 0 before the first. */
  readonly lastSequence: number;
  /** Calls that have not ended, the one that runs included. */
  readonly openCalls: number;
  /**
   * The source's whole state: publishes the differences, deletes keys that this publisher published and the source no longer has, then
   * publishes the marker that everything is published. Resolves to the number of changes. The state is read some at a time, yielding to
   * others between, and no value that the stream already holds is kept.
   */
  synchronize(state: Iterable<Change>, options?: PublishOptions & Kept): Promise<number>;
  /** Deletes what this publisher published of keys that no source has any more. Resolves to the number of deletes. */
  prune(isThere: (key: Change["key"]) => boolean): Promise<number>;
  /** Changes that belong together; equal ones are left out. Resolves to the number published. */
  publish(changes: readonly Change[], options?: PublishOptions): Promise<number>;
  /**
   * Compares what the stream holds of ours with what we published (`StreamComparison`), publishes what differs, and publishes the digests of
   * all, for those who follow to compare; changes are published meanwhile. Resolves to the number of differences; before the whole state was
   * published nothing is done.
   */
  attest(): Promise<number>;
  /** Other publishers may publish from now on: the stream is read again before the next publish. */
  retire(): Promise<void>;
}
