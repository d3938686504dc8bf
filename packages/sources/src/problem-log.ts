/** Which problems are new and which are over since the last look: what a log and a counter need. */
import type { SourceProblem } from "./source.ts";

export interface ProblemNews {
  readonly appeared: readonly SourceProblem[];
  readonly over: readonly SourceProblem[];
}

export class ProblemLog {
  #known: ReadonlyMap<string, SourceProblem> = new Map();

  update(problems: readonly SourceProblem[]): ProblemNews {
    const before = this.#known;
    const now = new Map(problems.map((problem) => [problemText(problem), problem]));
    this.#known = now;
    return {
      appeared: [...now].filter(([text]) => !before.has(text)).map(([, problem]) => problem),
      over: [...before].filter(([text]) => !now.has(text)).map(([, problem]) => problem),
    };
  }
}

/** The line does not count: an object that moves within its file has the same problem still. */
function problemText({ file, object = "", field = "", reason }: SourceProblem): string {
  return [file, object, field, reason].join("\n");
}
