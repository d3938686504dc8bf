/** What is refused or in conflict now, for `/debug/problems` and `flotilla status`. */
import type { SourceProblem } from "@flotilla/sources";
import type { AggregateStore } from "../aggregate/aggregate-store.ts";
import type { ConfigSource } from "../watch/config-source.ts";

export interface ListedProblem extends SourceProblem {
  readonly source: string;
}

export function listProblems(
  sources: readonly ConfigSource[],
  view: Pick<AggregateStore, "conflicts" | "problems">,
): readonly ListedProblem[] {
  const refused = sources.flatMap((source) =>
    source.problems().map((problem) => ({ source: source.name, ...problem })),
  );
  const doubled = view.conflicts().flatMap(({ key, winner, ignored }) =>
    ignored.map((source) => ({
      source,
      file: "",
      line: 0,
      object: `${key.kind}/${key.namespace}/${key.name}`,
      reason: `of ${source} is not in force: it is taken from ${winner}`,
    })),
  );
  const wrong = view.problems().map((problem) => ({ source: "view", file: "", line: 0, ...problem }));
  return [...refused, ...doubled, ...wrong];
}
