/** Where the registry's inputs come from: objects of a directory, configuration from the bus; later other registries. */
import type { RegistryInput } from "@flotilla/registry";
import type { SourceProblem } from "@flotilla/sources";

/** What was written together. The first group of a source is everything it has. */
export interface InputGroup {
  readonly inputs: readonly RegistryInput[];
  readonly eventTimeMs: number;
}

export interface InputSource extends AsyncDisposable {
  readonly name: string;
  groups(stop: AbortSignal): AsyncIterable<InputGroup>;
  problems(): readonly SourceProblem[];
}
