/**
 * All cells, their dependencies, and their removal: a cell is dropped as soon as it has neither watchers nor readers.
 * All results of one query and argument, found by the answers of the subject. * A computation is deterministic: as long as two subjects
 * have answered alike, they are asked the same next question. So the questions form a decision tree, whose leaves are the shared
 * results. Only questions that were answered differently are nodes of it; a leaf is checked against all of its own.
 */
import type { Answers, TraceEntry } from "./query.ts";
import {
  type AnyCell,
  addDependent,
  type Finding,
  type InputCell,
  type Place,
  type Query,
  type QueryArg,
  type QueryCell,
  removeDependent,
} from "./query.ts";
import { WatchedAbove } from "./reach.ts";

/** One for all, as most cells have found nothing and some ask nothing. */
const none: readonly never[] = [];
const noWatchers: ReadonlySet<object> = new Set();

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

  /** Records the dependencies of the cell's result, and its findings. */
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
    return cell === undefined ? noWatchers : this.#watchedAbove.of(cell);
  }

  #release(dep: AnyCell<Subject>, dependent: QueryCell<Subject>): void {
    removeDependent(dep, dependent);
    this.dropIfUnused(dep);
  }
}

function sameCells(a: readonly object[], b: readonly object[]): boolean {
  return a.length === b.length && a.every((cell, index) => cell === b[index]);
}

interface Branch<Subject> {
  readonly question: TraceEntry<Subject>;
  /** Its place in the traces below; all questions before it were answered alike there. */
  readonly depth: number;
  /** Two at least. */
  readonly answers: Map<string, TreeNode<Subject>>;
}
type TreeNode<Subject> = Branch<Subject> | QueryCell<Subject>;

export class Slot<Subject> implements Place<Subject> {
  #root: TreeNode<Subject> | undefined;

  get isEmpty(): boolean {
    return this.#root === undefined;
  }

  find(subject: Subject, answers: Answers<Subject>): QueryCell<Subject> | undefined {
    const leaf = this.#leafFor(subject, answers);
    return leaf !== undefined && answers.agree(subject, leaf.trace) ? leaf : undefined;
  }

  leadsTo(cell: QueryCell<Subject>, subject: Subject, answers: Answers<Subject>): boolean {
    return this.#leafFor(subject, answers) === cell;
  }

  /**
   * Puts a cell under its trace. A cell or branch in the way was computed from inputs that have
   * changed since (equal inputs would have asked the same questions), so it gives way.
   */
  insert(cell: QueryCell<Subject>): void {
    this.#root = place(this.#root, cell);
  }

  remove(cell: QueryCell<Subject>): void {
    if (this.#root !== undefined) this.#root = prune(this.#root, cell);
  }

  #leafFor(subject: Subject, answers: Answers<Subject>): QueryCell<Subject> | undefined {
    let node = this.#root;
    while (node !== undefined && isBranch(node)) node = node.answers.get(answers.of(subject, node.question));
    return node;
  }
}

function isBranch<S>(node: TreeNode<S>): node is Branch<S> {
  return "answers" in node;
}

function place<S>(node: TreeNode<S> | undefined, cell: QueryCell<S>): TreeNode<S> {
  if (node === undefined) return cell;
  const { trace } = anyLeaf(node);
  const limit = isBranch(node) ? node.depth : trace.length;
  for (let depth = 0; depth < limit; depth++) {
    const [there, mine] = [trace[depth], cell.trace[depth]];
    if (there === mine && there !== undefined) continue;
    if (there === undefined || mine === undefined || there.id !== mine.id) return cell;
    if (there.valueKey === mine.valueKey) continue;
    const answers = new Map([
      [there.valueKey, node],
      [mine.valueKey, cell],
    ]);
    return { question: mine, depth, answers };
  }
  if (!isBranch(node)) return cell;
  const mine = cell.trace[limit];
  if (mine === undefined || mine.id !== node.question.id) return cell;
  node.answers.set(mine.valueKey, place(node.answers.get(mine.valueKey), cell));
  return node;
}

function prune<S>(node: TreeNode<S>, cell: QueryCell<S>): TreeNode<S> | undefined {
  if (!isBranch(node)) return node === cell ? undefined : node;
  const entry = cell.trace[node.depth];
  const child = entry === undefined || entry.id !== node.question.id ? undefined : node.answers.get(entry.valueKey);
  if (entry === undefined || child === undefined) return node;
  const rest = prune(child, cell);
  if (rest === undefined) node.answers.delete(entry.valueKey);
  else node.answers.set(entry.valueKey, rest);
  if (node.answers.size > 1) return node;
  const [only] = node.answers.values();
  return only;
}

function anyLeaf<S>(node: TreeNode<S>): QueryCell<S> {
  let found = node;
  while (isBranch(found)) {
    const [first] = found.answers.values();
    if (first === undefined) throw new Error("[INCREMENTAL_TREE] a branch has answers");
    found = first;
  }
  return found;
}

class SlotTable<Subject> {
  readonly #slots = new Map<Query<Subject, QueryArg, unknown>, Map<QueryArg, Slot<Subject>>>();

  /** The slot, made when there is none yet. */
  slotOf(query: Query<Subject, QueryArg, unknown>, arg: QueryArg): Slot<Subject> {
    let slots = this.#slots.get(query);
    if (slots === undefined) {
      slots = new Map();
      this.#slots.set(query, slots);
    }
    let slot = slots.get(arg);
    if (slot === undefined) {
      slot = new Slot();
      slots.set(arg, slot);
    }
    return slot;
  }

  drop(query: Query<Subject, QueryArg, unknown>, arg: QueryArg): void {
    const slots = this.#slots.get(query);
    slots?.delete(arg);
    if (slots?.size === 0) this.#slots.delete(query);
  }
}
