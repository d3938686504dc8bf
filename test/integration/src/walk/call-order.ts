/**
 * Records the files of the project that are entered while a change is on its way, in the order of their first calls. Modules that are
 * loaded after `recordCalls` note each call of their functions; V8's coverage counts calls, without their order.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import ts from "typescript-6";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** The calls since they were taken before. */
class Calls {
  readonly #files = new Set<string>();
  #besides = 0;

  enter(file: string): void {
    if (this.#besides === 0) this.#files.add(file);
  }

  /** Functions called until `resume` run beside the walk. */
  suspend(): void {
    this.#besides++;
  }

  resume(): void {
    this.#besides--;
  }

  /** In this very turn of the event loop. */
  take(): readonly string[] {
    const files = [...this.#files];
    this.#files.clear();
    return files;
  }
}

/** Of files whose path from the root of the project matches; calls of functions with the names of `beside` do not count, nor what they call. */
export function recordCalls(files: RegExp, beside: ReadonlySet<string>): Calls {
  const calls = new Calls();
  Object.assign(globalThis, { walkCalls: calls });
  registerHooks({
    load: (url, context, nextLoad) => {
      const file = url.startsWith("file://") ? fileURLToPath(url).replace(root, "") : "";
      if (!files.test(file) || !file.endsWith(".ts")) return nextLoad(url, context);
      const source = noting(file, readFileSync(fileURLToPath(url), "utf8"), beside);
      return { format: "module-typescript", shortCircuit: true, source };
    },
  });
  return calls;
}

interface Insert {
  readonly at: number;
  readonly text: string;
}

/** The text with a call at the beginning of each function, and of each turn of a loop that waits for values. */
function noting(file: string, text: string, beside: ReadonlySet<string>): string {
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const note = `globalThis.walkCalls.enter(${JSON.stringify(file)})`;
  const inserts: Insert[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    const body = bodyOf(node);
    if (body === undefined) return;
    const [start, end] = [body.getStart(parsed), body.getEnd()];
    const isBeside = beside.has(nameOf(node));
    if (!ts.isBlock(body)) {
      if (!isBeside) inserts.push({ at: start, text: `(${note},` }, { at: end, text: ")" });
    } else if (!isBeside) inserts.push({ at: start + 1, text: `${note};` });
    else
      inserts.push(
        { at: start + 1, text: "globalThis.walkCalls.suspend();try{" },
        { at: end - 1, text: "}finally{globalThis.walkCalls.resume();}" },
      );
  };
  visit(parsed);
  // From the end, so that no place moves; of two at one place the outer one's comes first.
  return inserts
    .toSorted((a, b) => b.at - a.at)
    .reduce((all, { at, text: more }) => all.slice(0, at) + more + all.slice(at), text);
}

function bodyOf(node: ts.Node): ts.ConciseBody | undefined {
  if (ts.isForOfStatement(node) && node.awaitModifier !== undefined)
    return ts.isBlock(node.statement) ? node.statement : undefined;
  return ts.isFunctionLike(node) && "body" in node ? (node.body as ts.ConciseBody | undefined) : undefined;
}

/** Of a function, a method, or the property or constant that a function is the value of. */
function nameOf(node: ts.Node): string {
  const named = [node, node.parent].find(
    (one) =>
      (ts.isFunctionLike(one) || ts.isPropertyAssignment(one) || ts.isVariableDeclaration(one)) &&
      one.name !== undefined,
  ) as ts.NamedDeclaration | undefined;
  return named?.name?.getText() ?? "";
}
