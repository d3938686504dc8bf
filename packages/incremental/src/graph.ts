/**
 * Incremental computation with recorded dependencies.
 *
 * `set` changes inputs and marks what stands above them; `evaluate` brings a result up to date and
 * computes only what really changed: a query whose dependencies turn out equal is not run again, and
 * one whose new result equals the old stops the change there. Results are shared by all subjects
 * that would give the same answers to what the computation asks (see slot.ts).
 *
 * A graph is synchronous and has one owner; queries must be pure.
 */

import { CellStore } from "./cell-store.ts";
import {
  Answers,
  CycleError,
  dependentsOf,
  Failure,
  type Finding,
  type InputKey,
  mark,
  type Place,
  type Query,
  type QueryArg,
  type QueryCell,
  sameTrace,
  shallowEqual,
  titleOf,
} from "./query.ts";
import { inputKeysBelow } from "./reach.ts";
import { Recorder, type Source } from "./recorder.ts";

/** A result that is kept up to date on demand and watched. */
export interface Observation<Result> {
  readonly value: Result;
  /** The same object for all subjects that share the result. */
  readonly identity: object;
  /** Brings the result up to date and goes on watching. False: it is not this subject's any more, to be observed anew. */
  again(): boolean;
  /** Stops watching. Results without watchers and readers are dropped. */
  release(): void;
}

export interface GraphStats {
  readonly inputs: number;
  readonly results: number;
  readonly computations: number;
}

export class Graph<Subject> {
  readonly #cells = new CellStore<Subject>();
  readonly #running = new Set<Place<Subject>>();
  readonly #answers = new Answers<Subject>();
  readonly #source: Source<Subject>;
  #revision = 1;
  #computations = 0;

  constructor() {
    this.#source = {
      answers: this.#answers,
      inputCell: (key) => this.#cells.inputCell(key),
      resolve: (query, arg, subject) => this.#resolve(query, arg, subject),
    };
  }

  /** Sets an input; `undefined` removes it. Returns whether it differs from before (by `equal`). */
  set<Value>(
    key: InputKey<Value>,
    value: Value | undefined,
    equal: (a: Value, b: Value) => boolean = Object.is,
  ): boolean {
    const cell = this.#cells.inputCell(key);
    const before = cell.value as Value | undefined;
    const same = before === value || (before !== undefined && value !== undefined && equal(before, value));
    if (!same) {
      this.#revision++;
      cell.value = value;
      cell.changedAt = this.#revision;
      for (const dependent of dependentsOf<Subject>(cell)) mark(dependent, "dirty");
    }
    this.#cells.dropIfUnused(cell);
    return !same;
  }

  /** The present value of an input, outside of any query. */
  get<Value>(key: InputKey<Value>): Value | undefined {
    return this.#cells.input(key)?.value as Value | undefined;
  }

  /** The result for `subject`, up to date. It is kept only while something observed depends on it. */
  evaluate<Arg extends QueryArg, Result>(query: Query<Subject, Arg, Result>, arg: Arg, subject: Subject): Result {
    const cell = this.#resolve(erase(query), arg, subject);
    const { value } = cell;
    this.#cells.dropIfUnused(cell);
    return resultOf(value) as Result;
  }

  /** Keeps the result for `subject`; `onStale` is called once when it may have changed, until it is evaluated again. */
  observe<Arg extends QueryArg, Result>(
    query: Query<Subject, Arg, Result>,
    arg: Arg,
    subject: Subject,
    onStale: () => void,
  ): Observation<Result> {
    const cell = this.#resolve(erase(query), arg, subject);
    if (cell.value instanceof Failure) {
      this.#cells.dropIfUnused(cell);
      throw cell.value.error;
    }
    const observer = () => onStale();
    this.#cells.watch(cell, observer);
    // As long as the cell's questions are those that the subject has answered, it need not be asked again.
    let { trace } = cell;
    return {
      get value() {
        return resultOf(cell.value) as Result;
      },
      identity: cell,
      again: () => {
        if (cell.trace !== trace || !cell.slot.leadsTo(cell, subject, this.#answers)) return false;
        trace = this.#refresh(cell, subject).trace;
        return true;
      },
      release: () => this.#cells.unwatch(cell, observer),
    };
  }

  /** Findings of the results that are kept, each result's findings once. */
  findings(): readonly Finding[] {
    return this.#cells.findings();
  }

  /** The keys of all inputs that the result for `subject` was computed from, nearest first. */
  inputsOf<Arg extends QueryArg, Result>(
    query: Query<Subject, Arg, Result>,
    arg: Arg,
    subject: Subject,
  ): readonly string[] {
    const root = this.#resolve(erase(query), arg, subject);
    const keys = inputKeysBelow(root);
    this.#cells.dropIfUnused(root);
    return keys;
  }

  /**
   * The results that are watched and were computed from the input, by the identity that `observe` gives; undefined when it takes
   * too long to find out at once. Remembered as long as the same is made of the same, so it may be asked for many inputs.
   */
  watchedFrom(key: string): ReadonlySet<object> | undefined {
    return this.#cells.watchedFrom(key);
  }

  stats(): GraphStats {
    return { ...this.#cells.size, computations: this.#computations };
  }

  #resolve(query: Query<Subject, QueryArg, unknown>, arg: QueryArg, subject: Subject): QueryCell<Subject> {
    const slot = this.#cells.slotOf(query, arg);
    const found = slot.find(subject, this.#answers);
    if (found !== undefined) return this.#refresh(found, subject);
    const cell = this.#cells.newCell(slot, query, arg);
    this.#compute(cell, subject);
    return cell;
  }

  /** Brings a cell up to date for a subject that shares it; its place in the tree may change. */
  #refresh(cell: QueryCell<Subject>, subject: Subject): QueryCell<Subject> {
    if (cell.state === "clean") return cell;
    if (cell.state === "check") {
      const since = cell.changedAt;
      const changed = cell.deps.some(
        (dep) => (dep.kind === "input" ? dep : this.#refresh(dep, subject)).changedAt > since,
      );
      if (!changed) {
        cell.state = "clean";
        return cell;
      }
    }
    this.#compute(cell, subject);
    return cell;
  }

  #compute(cell: QueryCell<Subject>, subject: Subject): void {
    const { slot } = cell;
    if (this.#running.has(slot)) throw new CycleError(`[INCREMENTAL_CYCLE] query ${titleOf(cell)} depends on itself`);
    this.#running.add(slot);
    this.#cells.hold();
    try {
      const recorder = new Recorder(this.#source, subject);
      const value = computed(cell, recorder);
      this.#computations++;
      this.#commit(cell, value, recorder);
    } finally {
      this.#running.delete(slot);
      if (this.#running.size === 0) this.#cells.resume(cell);
    }
  }

  #commit(cell: QueryCell<Subject>, value: unknown, recorder: Recorder<Subject>): void {
    const isNew = cell.state === "new";
    const trace = this.#answers.trace(recorder.trace);
    const moved = isNew || !sameTrace(cell.trace, trace);
    if (moved && !isNew) cell.slot.remove(cell);
    this.#cells.link(cell, recorder.deps, recorder.findings);
    cell.trace = trace;
    cell.state = "clean";
    if (moved) cell.slot.insert(cell);
    // A result that moved may be equal, but cells that inherited its trace need the new one.
    if (moved || !isEqual(cell, value)) {
      cell.value = value;
      cell.changedAt = this.#revision;
    }
  }
}

/** An error is a result too: readers that go on without this one are computed again when something below it changes. */
function computed<Subject>({ query, arg }: QueryCell<Subject>, recorder: Recorder<Subject>): unknown {
  try {
    return query.compute(recorder, arg);
  } catch (error) {
    if (error instanceof CycleError || isOutOfStack(error)) throw error;
    return new Failure(error);
  }
}

/** Depends on where it was asked, not on what it was asked about. */
function isOutOfStack(error: unknown): boolean {
  return error instanceof RangeError && error.message === "Maximum call stack size exceeded";
}

function isEqual<Subject>({ query, value: before }: QueryCell<Subject>, value: unknown): boolean {
  if (before instanceof Failure || value instanceof Failure) return before === value;
  return (query.equal ?? shallowEqual)(before, value);
}

function resultOf(value: unknown): unknown {
  if (value instanceof Failure) throw value.error;
  return value;
}

/** The graph stores queries of all argument and result types in one place. */
function erase<S, Arg extends QueryArg, Result>(query: Query<S, Arg, Result>): Query<S, QueryArg, unknown> {
  return query as unknown as Query<S, QueryArg, unknown>;
}
