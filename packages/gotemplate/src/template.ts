/** A Go text/template: parsed once, executed on any data. */
import { builtins, type TemplateFunctions } from "./builtins.ts";
import { TemplateError } from "./errors.ts";
import { type Context, evaluate, type Scope } from "./evaluate.ts";
import type { Branch, Node } from "./nodes.ts";
import { parse } from "./parse.ts";
import { isMap, isNothing, isTrue, printValue, sortedKeys, typeName, zero } from "./values.ts";

/** Name and functions of a template. */
export interface TemplateOptions {
  /** Stands in messages. */
  readonly name?: string;
  /** Beside the built-in ones, which they may replace. */
  readonly functions?: TemplateFunctions;
}

/** A parsed template. */
export interface Template {
  /** Templates that the text defines. */
  readonly defined: readonly string[];
  /** @throws TemplateError TEMPLATE_EXECUTION */
  execute(data: unknown): string;
}

/** Go's own limit is higher; no honest template nests this deep. */
const maxDepth = 1000;

/** Of the evaluator. */
const operators: ReadonlySet<string> = new Set(["and", "or"]);

/** @throws TemplateError TEMPLATE_SYNTAX */
export function parseTemplate(source: string, { name = "template", functions = {} }: TemplateOptions = {}): Template {
  const all = { ...builtins, ...functions };
  const isFunction = (called: string): boolean => operators.has(called) || Object.hasOwn(all, called);
  const { body, defined } = parse({ name, text: source, isFunction });
  const execution = { name, functions: all, defined, maxDepth };
  return {
    defined: [...defined.keys()],
    execute: (data) => execute(execution, body, data),
  };
}

interface Execution extends Context {
  readonly defined: ReadonlyMap<string, readonly Node[]>;
  /** How deep templates may call each other; beyond it they are taken to call themselves forever. */
  readonly maxDepth: number;
}

/** How a list of nodes ended. */
type Outcome = "end" | "break" | "continue";

/** A parsed template executed on data. @throws TemplateError TEMPLATE_EXECUTION */
function execute(execution: Execution, body: readonly Node[], data: unknown): string {
  const writer = new Writer(execution);
  writer.run(body, data);
  return writer.text;
}

class Writer {
  text = "";
  readonly #execution: Execution;
  #depth = 0;

  constructor(execution: Execution) {
    this.#execution = execution;
  }

  run(body: readonly Node[], data: unknown): void {
    this.#walk(body, { dot: data, variables: new Map([["$", { value: data }]]) });
  }

  #walk(nodes: readonly Node[], outer: Scope): Outcome {
    // Variables that are declared here end here.
    const scope: Scope = { dot: outer.dot, variables: new Map(outer.variables) };
    for (const node of nodes) {
      const outcome = this.#step(node, scope);
      if (outcome !== "end") return outcome;
    }
    return "end";
  }

  #step(node: Node, scope: Scope): Outcome {
    switch (node.kind) {
      case "text":
        this.text += node.text;
        return "end";
      case "output": {
        const value = evaluate(this.#execution, node.pipeline, scope);
        if (node.pipeline.declared.length === 0) this.text += printValue(value);
        return "end";
      }
      case "template":
        this.#call(node, scope);
        return "end";
      case "range":
        return this.#range(node, scope);
      case "if":
      case "with":
        return this.#branch(node, scope);
      default:
        return node.kind;
    }
  }

  #branch({ kind, pipeline, body, otherwise }: Branch, outer: Scope): Outcome {
    const scope: Scope = { dot: outer.dot, variables: new Map(outer.variables) };
    const value = evaluate(this.#execution, pipeline, scope);
    if (!isTrue(value)) return this.#walk(otherwise, scope);
    return this.#walk(body, kind === "with" ? { ...scope, dot: value } : scope);
  }

  #range({ pipeline, body, otherwise }: Branch, outer: Scope): Outcome {
    // The variables of a range are set by each round, not by the pipeline.
    const { declared, assigns } = pipeline;
    const list = evaluate(this.#execution, { ...pipeline, declared: [] }, outer);
    const rounds = this.#rounds(list, pipeline.line);
    if (rounds.length === 0) return this.#walk(otherwise, outer);
    for (const [key, value] of rounds) {
      const scope: Scope = { dot: value, variables: new Map(outer.variables) };
      const names =
        declared.length === 1
          ? ([[declared[0], value]] as const)
          : ([
              [declared[0], key],
              [declared[1], value],
            ] as const);
      for (const [name, part] of names) {
        if (name === undefined) continue;
        const known = assigns ? outer.variables.get(name) : undefined;
        if (known !== undefined) known.value = part;
        else scope.variables.set(name, { value: part });
      }
      if (this.#walk(body, scope) === "break") break;
    }
    return "end";
  }

  #rounds(list: unknown, line: number): readonly (readonly [unknown, unknown])[] {
    if (isNothing(list)) return [];
    if (Array.isArray(list)) return list.map((value, index) => [index, value] as const);
    if (typeof list === "number")
      return Array.from({ length: Math.max(0, list) }, (_, index) => [index, index] as const);
    // own key: of the list
    if (isMap(list)) return sortedKeys(list).map((key) => [key, list[key]] as const);
    throw new TemplateError(
      "TEMPLATE_EXECUTION",
      { template: this.#execution.name, line },
      `range can't iterate over ${typeName(list)}`,
    );
  }

  #call({ name, line, argument }: Extract<Node, { kind: "template" }>, scope: Scope): void {
    const place = { template: this.#execution.name, line };
    const body = this.#execution.defined.get(name);
    if (body === undefined)
      throw new TemplateError("TEMPLATE_EXECUTION", place, `template ${JSON.stringify(name)} is not defined`);
    if (this.#depth >= this.#execution.maxDepth) {
      throw new TemplateError("TEMPLATE_EXECUTION", place, `template ${JSON.stringify(name)} calls itself without end`);
    }
    const data = argument === undefined ? zero : evaluate(this.#execution, argument, scope);
    this.#depth += 1;
    this.run(body, data);
    this.#depth -= 1;
  }
}
