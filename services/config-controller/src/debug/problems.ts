/** Problems of the moment (rejected, in conflict, ignored), for `/debug/problems` and `flotilla status`. */
import { compareText } from "@flotilla/model";
import type { SourceProblem } from "@flotilla/sources";
import { foreignKind } from "@flotilla/sources";
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

/** Objects of a kind that means nothing to the mesh, such as Deployments: counted, not listed. */
export interface IgnoredKind {
  readonly source: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly count: number;
}

export function listIgnored(sources: readonly ConfigSource[]): readonly IgnoredKind[] {
  return sources.flatMap((source) =>
    [...(source.ignored?.() ?? [])]
      .map(([text, count]) => {
        return { source: source.name, ...foreignKind.read(text), count };
      })
      .sort((a, b) => compareText(`${a.kind} ${a.apiVersion}`, `${b.kind} ${b.apiVersion}`)),
  );
}
