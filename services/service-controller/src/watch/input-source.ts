/** Where the registry's inputs come from: objects of a directory, configuration from the bus; later other registries. */
import type { RegistryInput } from "@flotilla/registry";
import type { SourceProblem } from "@flotilla/sources";

/** Inputs that were written together. The first group of a source is everything it has. */
export interface InputGroup {
  readonly inputs: readonly RegistryInput[];
  readonly eventTimeMs: number;
  /** Of configuration: the place in the fleet's sequence that it reaches to. */
  readonly position?: number;
  /** Shards that the source could not read yet, `registry/*` for all of a registry: their published endpoints stay. */
  readonly unread?: readonly string[];
}

/** All that a shard has, as puts. One that cannot be read now is not listed. */
export interface ShardListing {
  readonly shard: string;
  readonly inputs: readonly RegistryInput[];
}

export interface InputSource extends AsyncDisposable {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<InputGroup>;
  problems(): readonly SourceProblem[];
  /** Reads everything afresh, past all that the source remembers: the followers' state is checked against it. */
  list?(stop: AbortSignal): Promise<readonly ShardListing[]>;
}
