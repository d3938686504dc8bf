/** Answers to conditions that a request may leave open: true, false, or why the configuration alone does not decide. */

export interface Doubt {
  /** A phrase: `a share of 10 %`. */
  readonly doubt: string;
}

export type Judgement = boolean | Doubt;

export function isDoubt(judgement: Judgement): judgement is Doubt {
  return typeof judgement !== "boolean";
}

/** False if any is, else the first doubt. */
export function every(judgements: Iterable<Judgement>): Judgement {
  return first(judgements, false) ?? true;
}

/** True if any is, else the first doubt. */
export function some(judgements: Iterable<Judgement>): Judgement {
  return first(judgements, true) ?? false;
}

export function not(judgement: Judgement): Judgement {
  return isDoubt(judgement) ? judgement : !judgement;
}

/** The deciding value where one of them has it, else the first doubt, else undefined. */
function first(judgements: Iterable<Judgement>, deciding: boolean): Judgement | undefined {
  let doubt: Doubt | undefined;
  for (const judgement of judgements) {
    if (judgement === deciding) return deciding;
    if (isDoubt(judgement)) doubt ??= judgement;
  }
  return doubt;
}
