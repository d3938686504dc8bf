/**
 * All results of one query and argument, found by the answers of the subject.
 *
 * A computation is deterministic: as long as two subjects have answered alike, they are asked the
 * same next question. So the questions form a decision tree, whose leaves are the shared results.
 */
import type { Place, QueryCell, TraceEntry } from "./cell.ts";

interface Branch<Subject> {
  readonly question: TraceEntry<Subject>;
  readonly answers: Map<string, TreeNode<Subject>>;
}
type TreeNode<Subject> = Branch<Subject> | QueryCell<Subject>;

export class Slot<Subject> implements Place<Subject> {
  #root: TreeNode<Subject> | undefined;

  get isEmpty(): boolean {
    return this.#root === undefined;
  }

  find(subject: Subject): QueryCell<Subject> | undefined {
    let node = this.#root;
    while (node !== undefined && isBranch(node)) node = node.answers.get(node.question.valueKeyOf(subject));
    return node;
  }

  /**
   * Puts a cell under its trace. A cell or branch in the way was computed from inputs that have
   * changed since (equal inputs would have asked the same questions), so it gives way.
   */
  insert(cell: QueryCell<Subject>): void {
    this.#root = place(this.#root, cell, 0);
  }

  remove(cell: QueryCell<Subject>): void {
    if (this.#root !== undefined) this.#root = prune(this.#root, cell, 0);
  }

  cells(): readonly QueryCell<Subject>[] {
    return this.#root === undefined ? [] : leaves(this.#root);
  }
}

function isBranch<S>(node: TreeNode<S>): node is Branch<S> {
  return "answers" in node;
}

function place<S>(node: TreeNode<S> | undefined, cell: QueryCell<S>, depth: number): TreeNode<S> {
  const entry = cell.trace[depth];
  if (entry === undefined) return cell;
  const branch =
    node !== undefined && isBranch(node) && node.question.id === entry.id
      ? node
      : { question: entry, answers: new Map() };
  branch.answers.set(entry.valueKey, place(branch.answers.get(entry.valueKey), cell, depth + 1));
  return branch;
}

function prune<S>(node: TreeNode<S>, cell: QueryCell<S>, depth: number): TreeNode<S> | undefined {
  if (!isBranch(node)) return node === cell ? undefined : node;
  const entry = cell.trace[depth];
  const child = entry === undefined || entry.id !== node.question.id ? undefined : node.answers.get(entry.valueKey);
  if (entry === undefined || child === undefined) return node;
  const rest = prune(child, cell, depth + 1);
  if (rest === undefined) node.answers.delete(entry.valueKey);
  else node.answers.set(entry.valueKey, rest);
  return node.answers.size === 0 ? undefined : node;
}

function leaves<S>(node: TreeNode<S>): readonly QueryCell<S>[] {
  return isBranch(node) ? [...node.answers.values()].flatMap(leaves) : [node];
}
