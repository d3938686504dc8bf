/** A source of configuration: a directory, mesh documents; later Kubernetes and other control planes. */
import type { ConfigChange } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";

/** What was written together. The first group of a source is everything it has. */
export interface ConfigGroup {
  readonly changes: readonly ConfigChange[];
  readonly eventTimeMs: number;
}

export interface ConfigSource extends AsyncDisposable {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<ConfigGroup>;
  problems(): readonly SourceProblem[];
}
