/** What is refused or in conflict now, for `/debug/problems` and `flotilla status`. */
import type { SourceProblem } from "@flotilla/sources";
import type { Conflict } from "../aggregate/aggregate-store.ts";
import type { ConfigSource } from "../watch/config-source.ts";

export interface ListedProblem extends SourceProblem {
  readonly source: string;
}

export function listProblems(
  sources: readonly ConfigSource[],
  conflicts: readonly Conflict[],
): readonly ListedProblem[] {
  const refused = sources.flatMap((source) =>
    source.problems().map((problem) => ({ source: source.name, ...problem })),
  );
  const doubled = conflicts.flatMap(({ key, winner, ignored }) =>
    ignored.map((source) => ({
      source,
      file: "",
      line: 0,
      object: `${key.kind}/${key.namespace}/${key.name}`,
      reason: `is taken from ${winner}`,
    })),
  );
  return [...refused, ...doubled];
}
