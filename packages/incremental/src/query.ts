/**
 * The parts of a computation: inputs (set from outside), facets (what it asks about its subject) and queries (memoised functions of inputs,
 * facets and other queries). The nodes of the dependency graph, and the answers of subjects: equal ones are the identical object. Private
 * to this package.
 */

/** A question about the subject (a proxy). Subjects that answer alike share results. */
export interface Facet<Subject, Arg, Value> {
  readonly name: string;
  readonly read: (subject: Subject, arg: Arg) => Value;
  /** Equal texts mean equal answers. Defaults to the text of a primitive, the JSON of anything else. */
  readonly keyOf?: (value: Value) => string;
}

/** A memoised pure function. Its reads through the context are recorded; none is declared. */
export interface Query<Subject, Arg extends QueryArg, Result> {
  readonly name: string;
  readonly compute: (context: Context<Subject>, arg: Arg) => Result;
  /** True when a new result may stand for the old one, so that nothing above is computed again. Default: `shallowEqual`. */
  readonly equal?: (a: Result, b: Result) => boolean;
  /** Mark for `Graph.inputsOf`. Without one, all inputs below the query count as inputs of its readers. */
  readonly provenance?: Provenance;
}

/**
 * `catalogue`: the result lists everything of a kind. Readers also read the entries that they use by name, so only those count as their inputs.
 * `unless-empty`: an empty result has no inputs for its readers (decision 0390).
 */
export type Provenance = "catalogue" | "unless-empty";

/**
 * Arguments are part of the memo key: texts and numbers by value, objects by identity, for which they must never change, and callers that
 * mean the same must pass the identical one.
 */
export type QueryArg = string | number | undefined | object;

/** The only way a query may look at anything. */
export interface Context<Subject> {
  /** The input under `key`; `undefined` when there is none, which is recorded too. */
  input<Value>(key: InputKey<Value>): Value | undefined;
  facet<Arg, Value>(facet: Facet<Subject, Arg, Value>, arg: Arg): Value;
  /** @throws what the computation threw */
  read<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg): Result;
  /** As `read`; what the computation threw is a result like others, and the reader is computed again when that may have changed. */
  attempt<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg): Result | Failure;
  /** A finding about an object (a conflict, an unknown reference); it lives as long as the result it was found for. */
  report(finding: Finding): void;
}

/** The result of a computation that threw: while nothing below it changes, it would throw again. */
export class Failure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** A query that reads itself: whether it does depends on who asked first, so that no result is kept of it. */
export class CycleError extends Error {
  override readonly name = "CycleError";
}

/** The text of an input's key, which remembers the type of its value. */
export type InputKey<Value> = string & { readonly __value?: (value: Value) => Value };

export interface Finding {
  /** The metric that counts such findings, for example `pilot_vservice_dup_domain`. */
  readonly metric: string;
  /** The object concerned, as `Kind/namespace/name` or a host. */
  readonly object: string;
  readonly message: string;
}

/** Same reference, or flat arrays, maps, sets and plain objects whose members are the same references. */
export function shallowEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => Object.is(item, b[i]));
  if (a instanceof Map)
    return b instanceof Map && a.size === b.size && [...a].every(([k, v]) => b.has(k) && Object.is(b.get(k), v));
  if (a instanceof Set) return b instanceof Set && a.size === b.size && [...a].every((item) => b.has(item));
  if (Object.getPrototypeOf(a) !== Object.prototype || Object.getPrototypeOf(b) !== Object.prototype) return false;
  const left = Object.entries(a);
  return (
    left.length === Object.keys(b).length &&
    // own key: asked for right before
    left.every(([k, v]) => Object.hasOwn(b, k) && Object.is(v, (b as Record<string, unknown>)[k]))
  );
}

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
  /** True where this is the only cell that could be the subject's. */
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

/** The tables serve identity only: when one is full it begins anew, and comparisons by text find what is equal. */
const maxEntries = 50_000;
const maxTraces = 20_000;

export class Answers<Subject> {
  /** By question and answer. */
  #entries = new Map<string, Map<string, TraceEntry<Subject>>>();
  #entryCount = 0;
  #serial = 0;
  readonly #traces = new Map<string, Trace<Subject>>();
  #subject: Subject | undefined;
  /** Of the present subject, by question. */
  readonly #given = new Map<string, string>();
  readonly #verdicts = new Map<Trace<Subject>, boolean>();

  entry(id: string, valueKey: string, valueKeyOf: (subject: Subject) => string): TraceEntry<Subject> {
    const known = this.#entries.get(id)?.get(valueKey);
    if (known !== undefined) return known;
    if (this.#entryCount === maxEntries) {
      this.#entries = new Map();
      this.#entryCount = 0;
    }
    const entry = { id, valueKey, valueKeyOf, serial: ++this.#serial };
    const ofQuestion = this.#entries.get(id) ?? new Map<string, TraceEntry<Subject>>();
    this.#entries.set(id, ofQuestion.set(valueKey, entry));
    this.#entryCount++;
    return entry;
  }

  trace(entries: readonly TraceEntry<Subject>[]): Trace<Subject> {
    let key = "";
    for (const { serial } of entries) key += `${serial},`;
    const known = this.#traces.get(key);
    if (known !== undefined) return known;
    if (this.#traces.size === maxTraces) this.#traces.clear();
    this.#traces.set(key, entries);
    return entries;
  }

  /** The subject's answer to the question of an entry. */
  of(subject: Subject, { id, valueKeyOf }: TraceEntry<Subject>): string {
    this.#turnTo(subject);
    let given = this.#given.get(id);
    if (given === undefined) {
      given = valueKeyOf(subject);
      this.#given.set(id, given);
    }
    return given;
  }

  /** True where the subject's answers equal those of the trace. */
  agree(subject: Subject, trace: Trace<Subject>): boolean {
    this.#turnTo(subject);
    let verdict = this.#verdicts.get(trace);
    if (verdict === undefined) {
      verdict = trace.every((entry) => this.of(subject, entry) === entry.valueKey);
      this.#verdicts.set(trace, verdict);
    }
    return verdict;
  }

  #turnTo(subject: Subject): void {
    if (subject === this.#subject) return;
    this.#subject = subject;
    this.#given.clear();
    this.#verdicts.clear();
  }
}

/** A question of a computation about its subject, and the answer. */
export interface TraceEntry<Subject> {
  /** Facet name and argument. */
  readonly id: string;
  readonly valueKey: string;
  readonly valueKeyOf: (subject: Subject) => string;
  /** Equal entries have the same, as long as the table of answers remembers them. */
  readonly serial: number;
}

/** The facets read, own and inherited, in the order of reading. */
export type Trace<Subject> = readonly TraceEntry<Subject>[];

export function sameTrace<S>(a: Trace<S>, b: Trace<S>): boolean {
  if (a === b) return true;
  return a.length === b.length && a.every((entry, i) => entry.id === b[i]?.id && entry.valueKey === b[i]?.valueKey);
}
