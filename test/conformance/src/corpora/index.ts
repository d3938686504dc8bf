/** The corpora that the project claims, each with its driver. */

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

/** Loaded on demand: a run of one group should not pay for all of them. */
export const corpora: Readonly<Record<string, () => Promise<CorpusDriver>>> = {
  "mesh-config": async () => (await import("./mesh-config.ts")).run,
  serviceregistry: async () => (await import("./serviceregistry.ts")).run,
};
