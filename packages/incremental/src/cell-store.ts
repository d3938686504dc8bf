/** The cells that there are, what depends on what, and when a cell is dropped: as soon as nobody watches or uses it. */
import { type AnyCell, addDependent, type InputCell, type QueryCell, removeDependent } from "./cell.ts";
import type { Finding, Query, QueryArg } from "./query.ts";
import { WatchedAbove } from "./reach.ts";
import { type Slot, SlotTable } from "./slot.ts";

/** One for all, as most cells have found nothing and some ask nothing. */
const none: readonly never[] = [];
const nobody: ReadonlySet<object> = new Set();

export class CellStore<Subject> {
  readonly #inputs = new Map<string, InputCell>();
  readonly #slots = new SlotTable<Subject>();
  /** The results that have found something: few, and asked for often. */
  readonly #reporting = new Set<QueryCell<Subject>>();
  /** Cells that lost a dependent while something ran that may be about to use them; undefined while nothing runs. */
  #unused: Set<AnyCell<Subject>> | undefined;
  readonly #watchedAbove = new WatchedAbove<Subject>();
  #results = 0;

  get size(): { readonly inputs: number; readonly results: number } {
    return { inputs: this.#inputs.size, results: this.#results };
  }

  input(key: string): InputCell | undefined {
    return this.#inputs.get(key);
  }

  /** Made when there is none. */
  inputCell(key: string): InputCell {
    let cell = this.#inputs.get(key);
    if (cell === undefined) {
      cell = { kind: "input", key, value: undefined, changedAt: 0, dependents: undefined };
      this.#inputs.set(key, cell);
    }
    return cell;
  }

  slotOf(query: Query<Subject, QueryArg, unknown>, arg: QueryArg): Slot<Subject> {
    return this.#slots.slotOf(query, arg);
  }

  newCell(slot: Slot<Subject>, query: Query<Subject, QueryArg, unknown>, arg: QueryArg): QueryCell<Subject> {
    return {
      kind: "query",
      query,
      arg,
      slot,
      state: "new",
      value: undefined,
      changedAt: 0,
      deps: none,
      dependents: undefined,
      trace: none,
      findings: none,
      observers: undefined,
    };
  }

  /** What the cell's result was made of, and what it has found. */
  link(cell: QueryCell<Subject>, deps: ReadonlySet<AnyCell<Subject>>, findings: readonly Finding[]): void {
    if (cell.state === "new") this.#results++;
    const [before, after] = [cell.deps, [...deps]];
    for (const dep of after) addDependent(dep, cell);
    if (!sameCells(before, after)) this.#watchedAbove.forget();
    cell.deps = after;
    for (const dep of before) if (!deps.has(dep)) this.#release(dep, cell);
    cell.findings = findings;
    if (findings.length > 0) this.#reporting.add(cell);
    else this.#reporting.delete(cell);
  }

  watch(cell: QueryCell<Subject>, observer: () => void): void {
    if (cell.observers === undefined) {
      cell.observers = new Set();
      this.#watchedAbove.forget();
    }
    cell.observers.add(observer);
  }

  unwatch(cell: QueryCell<Subject>, observer: () => void): void {
    cell.observers?.delete(observer);
    if (cell.observers?.size === 0) {
      cell.observers = undefined;
      this.#watchedAbove.forget();
    }
    this.dropIfUnused(cell);
  }

  /** Until `resume` nothing is dropped. */
  hold(): void {
    this.#unused ??= new Set();
  }

  /** Drops what is unused by now, but for one that is about to be used. */
  resume(kept: AnyCell<Subject>): void {
    const unused = this.#unused ?? [];
    this.#unused = undefined;
    for (const cell of unused) if (cell !== kept) this.dropIfUnused(cell);
  }

  dropIfUnused(cell: AnyCell<Subject>): void {
    if (cell.dependents !== undefined) return;
    if (this.#unused !== undefined) {
      this.#unused.add(cell);
      return;
    }
    if (cell.kind === "input") {
      if (cell.value === undefined) this.#inputs.delete(cell.key);
      return;
    }
    if (cell.observers !== undefined || cell.state === "disposed") return;
    cell.state = "disposed";
    this.#reporting.delete(cell);
    this.#results--;
    cell.slot.remove(cell);
    if (cell.slot.isEmpty) this.#slots.drop(cell.query, cell.arg);
    for (const dep of cell.deps) this.#release(dep, cell);
    cell.deps = none;
  }

  /** Each result's findings once. */
  findings(): readonly Finding[] {
    return [...this.#reporting].flatMap((cell) => cell.findings);
  }

  /** See `Graph.watchedFrom`. */
  watchedFrom(key: string): ReadonlySet<object> | undefined {
    const cell = this.#inputs.get(key);
    return cell === undefined ? nobody : this.#watchedAbove.of(cell);
  }

  #release(dep: AnyCell<Subject>, dependent: QueryCell<Subject>): void {
    removeDependent(dep, dependent);
    this.dropIfUnused(dep);
  }
}

function sameCells(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((cell, index) => cell === b[index]);
}
