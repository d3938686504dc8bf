/** The nodes of the dependency graph. Private to this package. */
import type { Answers, Trace } from "./answers.ts";
import type { Finding, Query, QueryArg } from "./query.ts";

/** `check`: something below may have changed; `dirty`: something read directly has. */
type CellState = "new" | "clean" | "check" | "dirty" | "disposed";

export interface InputCell {
  readonly kind: "input";
  readonly key: string;
  value: unknown;
  changedAt: number;
  dependents: Dependents;
}

export interface QueryCell<Subject> {
  readonly kind: "query";
  readonly query: Query<Subject, QueryArg, unknown>;
  readonly arg: QueryArg;
  readonly slot: Place<Subject>;
  state: CellState;
  value: unknown;
  changedAt: number;
  deps: readonly AnyCell<Subject>[];
  dependents: Dependents;
  trace: Trace<Subject>;
  findings: readonly Finding[];
  /** Observers keep a cell alive and learn that it may have changed. */
  observers: Set<() => void> | undefined;
}

/** Where the results of one query and argument are found (slot.ts). */
export interface Place<Subject> {
  readonly isEmpty: boolean;
  /** Whether this is the only cell that could be the subject's. */
  leadsTo(cell: QueryCell<Subject>, subject: Subject, answers: Answers<Subject>): boolean;
  insert(cell: QueryCell<Subject>): void;
  remove(cell: QueryCell<Subject>): void;
}

export type AnyCell<Subject> = InputCell | QueryCell<Subject>;

/** Most cells have exactly one dependent, and a Set costs 200 bytes. */
// biome-ignore lint/suspicious/noExplicitAny: the graph checks the subject's type once, at its own border
type Dependent = QueryCell<any>;
type Dependents = Dependent | Set<Dependent> | undefined;

export function addDependent<S>(cell: AnyCell<S>, dependent: QueryCell<S>): void {
  const current = cell.dependents;
  if (current === undefined) cell.dependents = dependent;
  else if (current instanceof Set) current.add(dependent);
  else if (current !== dependent) cell.dependents = new Set([current, dependent]);
}

export function removeDependent<S>(cell: AnyCell<S>, dependent: QueryCell<S>): void {
  const current = cell.dependents;
  if (current === dependent) cell.dependents = undefined;
  else if (current instanceof Set) {
    current.delete(dependent);
    if (current.size === 0) cell.dependents = undefined;
  }
}

export function dependentsOf<S>(cell: AnyCell<S>): Iterable<QueryCell<S>> {
  const current = cell.dependents;
  if (current === undefined) return [];
  return current instanceof Set ? current : [current];
}

/** Nothing above a cell that may have changed counts as up to date; each observer learns it once. */
export function mark<Subject>(cell: QueryCell<Subject>, state: "check" | "dirty"): void {
  const wasClean = cell.state === "clean";
  if (wasClean || (cell.state === "check" && state === "dirty")) cell.state = state;
  if (!wasClean) return;
  for (const dependent of dependentsOf(cell)) mark(dependent, "check");
  if (cell.observers !== undefined) for (const observer of [...cell.observers]) observer();
}

/** For people. */
export function titleOf<S>({ query, arg }: QueryCell<S>): string {
  return arg === undefined ? query.name : `${query.name}(${typeof arg === "object" ? "an object" : arg})`;
}
