/** Down the recorded dependencies, for those who ask what something came from; no computation needs it. */
import type { AnyCell, QueryCell } from "./cell.ts";

/** The keys of all inputs that a result was computed from, nearest first. */
export function inputKeysBelow<Subject>(root: QueryCell<Subject>): readonly string[] {
  const seen = new Set<AnyCell<Subject>>([root]);
  const keys: string[] = [];
  for (const cell of seen) {
    if (cell.kind === "input") keys.push(cell.key);
    else for (const dep of cell.deps) seen.add(dep);
  }
  return keys;
}
