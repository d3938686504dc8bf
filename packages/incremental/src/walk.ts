/** Walks along the recorded dependencies, for those who ask what came from where; no computation needs them. */
import { type AnyCell, dependentsOf, type QueryCell } from "./cell.ts";

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

/** The observed results that stand above the cells; undefined when more than `maxCells` results stand between. */
export function watchedAbove<Subject>(
  cells: Iterable<AnyCell<Subject>>,
  maxCells: number,
): ReadonlySet<QueryCell<Subject>> | undefined {
  const seen = new Set(cells);
  const watched = new Set<QueryCell<Subject>>();
  for (const cell of seen) {
    if (seen.size > maxCells) return undefined;
    if (cell.kind === "query" && cell.observers !== undefined) watched.add(cell);
    for (const dependent of dependentsOf<Subject>(cell)) seen.add(dependent);
  }
  return watched;
}
