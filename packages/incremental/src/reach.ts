/** Finds the observed results above a cell, to show the effects of an input; no computation needs it. */
import { type AnyCell, dependentsOf, type QueryCell } from "./query.ts";

type Results = ReadonlySet<object>;

const none: Results = new Set();

/** Some milliseconds' worth of looking: the question must not cost what the graph costs. */
const maxLooks = 10_000;

/** Looks at each cell once, until something else is made of what, or observed: most cells stand below the same few results. */
export class WatchedAbove<Subject> {
  /** Cells that lead to the same results mostly share the set. */
  readonly #known = new Map<AnyCell<Subject>, Results>();

  /** Undefined when it takes too long to find out at once; asked again it goes on from there. */
  of(root: AnyCell<Subject>): Results | undefined {
    let looks = 0;
    const resultsAbove = (cell: AnyCell<Subject>): Results | undefined => {
      const known = this.#known.get(cell);
      if (known !== undefined) return known;
      if (++looks > maxLooks) return undefined;
      let results = ownResult(cell);
      for (const dependent of dependentsOf(cell)) {
        const further = resultsAbove(dependent);
        if (further === undefined) return undefined;
        results = union(results, further);
      }
      this.#known.set(cell, results);
      return results;
    };
    return resultsAbove(root);
  }

  forget(): void {
    // Clearing makes a new table, and this is called for each result that is made of something else.
    if (this.#known.size > 0) this.#known.clear();
  }
}

function ownResult<Subject>(cell: AnyCell<Subject>): Results {
  return cell.kind === "query" && cell.observers !== undefined ? new Set([cell]) : none;
}

/** One of the two where it holds the other. */
function union(a: Results, b: Results): Results {
  // Most cells have no result of their own and one dependent.
  if (a.size === 0) return b;
  if (a === b || b.isSubsetOf(a)) return a;
  return a.isSubsetOf(b) ? b : a.union(b);
}

/** The keys of the inputs that a result was computed from, nearest first. */
export function inputKeysBelow<Subject>(root: QueryCell<Subject>): readonly string[] {
  const catalogues: QueryCell<Subject>[] = [];
  const keys = new Set<string>();
  for (const cell of cellsBelow(root, catalogues)) if (cell.kind === "input") keys.add(cell.key);
  for (const catalogue of catalogues) for (const key of takenFrom(catalogue, keys)) keys.add(key);
  return [...keys];
}

/** Cells below a root. Catalogues are collected in `catalogues` and not entered; empty results marked `unless-empty` are not entered. */
function cellsBelow<Subject>(root: AnyCell<Subject>, catalogues: QueryCell<Subject>[]): ReadonlySet<AnyCell<Subject>> {
  const seen = new Set<AnyCell<Subject>>([root]);
  for (const cell of seen) {
    if (cell.kind === "input") continue;
    const { provenance } = cell.query;
    if (provenance === "catalogue") catalogues.push(cell);
    else if (provenance !== "unless-empty" || !isEmpty(cell.value)) for (const dep of cell.deps) seen.add(dep);
  }
  return seen;
}

/** Empty if entries of the catalogue were read by name; otherwise all entries count, since which of them were used is not recorded. */
function takenFrom<Subject>(catalogue: QueryCell<Subject>, known: ReadonlySet<string>): readonly string[] {
  const parts = catalogue.deps.filter(({ kind }) => kind === "query");
  const keys = parts.flatMap((part) =>
    [...cellsBelow(part, [])].flatMap((cell) => (cell.kind === "input" ? cell.key : [])),
  );
  return keys.some((key) => known.has(key)) ? [] : keys;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined) return true;
  return Array.isArray(value) ? value.length === 0 : (value instanceof Map || value instanceof Set) && value.size === 0;
}
