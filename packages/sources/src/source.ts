/** Where objects come from: each source gives its whole state first and then what changes, group by group. */

import { type KubeObject, type Provenance, type TextOf, textCodec } from "@flotilla/model";

/** Names an object whatever version of its API it was written in. */
export interface ObjectKey {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object that appeared or changed, or that is gone. */
export type SourceChange =
  | { readonly op: "put"; readonly key: ObjectKey; readonly object: KubeObject; readonly provenance: Provenance }
  | { readonly op: "delete"; readonly key: ObjectKey };

/** Changes that were written together. The first group of a source is everything it has, even if that is nothing. */
export interface SourceGroup {
  readonly changes: readonly SourceChange[];
  /** When it was written, milliseconds since the epoch. */
  readonly eventTimeMs: number;
}

/** Why something is not in force. */
export interface SourceProblem {
  readonly file: string;
  /** Counted from 1; 0 when the whole file is meant. */
  readonly line: number;
  /** `Kind/namespace/name`; absent when it is unknown. */
  readonly object?: string;
  readonly field?: string;
  readonly reason: string;
}

/** A kind that is of no use to any reader. */
export const foreignKind = textCodec("ForeignKind", " ", ["apiVersion", "kind"]);
export type ForeignKind = TextOf<typeof foreignKind>;

/** A source of objects; disposing of it ends its watches. */
export interface ObjectSource extends AsyncDisposable {
  readonly name: string;
  /** One reader at a time; a slow one gets groups joined, never a queue without end. */
  groups(stop: AbortSignal): AsyncIterable<SourceGroup>;
  /** Current rejections. */
  problems(): readonly SourceProblem[];
  /** Objects of kinds that are of no use to any reader: how many of each. */
  ignored(): ReadonlyMap<ForeignKind, number>;
}

/** Problems that appeared and that ended since the last update. */
export interface ProblemNews {
  readonly appeared: readonly SourceProblem[];
  readonly over: readonly SourceProblem[];
}

/** Finds the problems that are new and those that are over since the last look, for a log and a counter. */
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
