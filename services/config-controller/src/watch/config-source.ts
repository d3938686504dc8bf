/** A source of configuration: a directory, a Kubernetes API, other control planes, mesh documents. */
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";

/** What was written together. The first group of a source is everything it has. */
export interface ConfigGroup {
  /** Handed over: whoever takes the group empties it when it is done. */
  readonly changes: ConfigChange[];
  readonly eventTimeMs: number;
  /** Accounts that wrote it over the API. */
  readonly caller?: string;
  /** With it the source has told everything it can: what is in force and was not told is gone. Always so of the first. */
  readonly isComplete?: boolean;
}

export interface ConfigSource extends AsyncDisposable {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<ConfigGroup>;
  problems(): readonly SourceProblem[];
  /** Objects of kinds that mean nothing to the mesh: how many of each, by `apiVersion kind`. */
  ignored?(): ReadonlyMap<string, number>;
  /** The source cannot tell now whether it has this object: what is in force stays. */
  isUntold?(key: ConfigKey): boolean;
  /** What readiness has to say of it now; undefined when all is well. */
  condition?(): SourceCondition | undefined;
}

export interface SourceCondition {
  readonly detail: string;
  /** The service is not ready as long as it holds. */
  readonly blocks: boolean;
}
