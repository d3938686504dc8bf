/** The types of a corpus and its driver. */

export interface CaseResult {
  readonly name: string;
  readonly passed: boolean;
  /** Why not, in a line. */
  readonly detail?: string;
}

/** Runs every open case of a corpus in `directory`. */
export type CorpusDriver = (directory: string) => Promise<readonly CaseResult[]>;

export interface CorpusResult {
  readonly name: string;
  readonly cases: readonly CaseResult[];
}
