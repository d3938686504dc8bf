/**
 * All results of one query and argument, found by the answers of the subject.
 *
 * A computation is deterministic: as long as two subjects have answered alike, they are asked the
 * same next question. So the questions form a decision tree, whose leaves are the shared results. Only questions
 * that were answered differently are nodes of it; a leaf is checked against all of its own.
 */
import type { Answers, TraceEntry } from "./answers.ts";
import type { Place, QueryCell } from "./cell.ts";
import type { Query, QueryArg } from "./query.ts";

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

export class SlotTable<Subject> {
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
