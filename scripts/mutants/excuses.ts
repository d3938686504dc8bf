/**
 * Survivors that are known to make no difference, in one reviewed file. An entry names the change by its texts, not by its line, so that
 * it holds while the file around it changes, and is refused when no mutant fits it any more.
 */
import { parse } from "yaml";
import type { Mutant } from "./operators.ts";

export interface Excuse {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

const shortestReason = 15;

/** @throws TypeError for an entry without one of its fields, or with a reason that gives none */
export function parseExcuses(text: string): readonly Excuse[] {
  const entries = (parse(text) ?? []) as unknown;
  if (!Array.isArray(entries)) throw new TypeError("excuses are a list");
  return entries.map((entry: Partial<Record<string, unknown>>, at) => {
    const { file, before, after, reason } = entry;
    if (typeof file !== "string" || typeof before !== "string" || typeof after !== "string")
      throw new TypeError(`excuse ${at + 1}: file, before and after are texts`);
    if (typeof reason !== "string" || reason.length < shortestReason)
      throw new TypeError(`excuse ${at + 1} (${file}): the reason must state why the change makes no difference`);
    return { file, before, after, reason };
  });
}

export function excuseOf(excuses: readonly Excuse[], mutant: Mutant): Excuse | undefined {
  return excuses.find((excuse) => fits(excuse, mutant));
}

/** Entries of files whose mutants are all at hand, that fit none of them. */
export function staleExcuses(excuses: readonly Excuse[], mutants: readonly Mutant[]): readonly Excuse[] {
  const files = new Set(mutants.map(({ file }) => file));
  return excuses.filter((excuse) => files.has(excuse.file) && !mutants.some((mutant) => fits(excuse, mutant)));
}

function fits({ file, before, after }: Excuse, mutant: Mutant): boolean {
  return file === mutant.file && before === mutant.before && after === mutant.after;
}
