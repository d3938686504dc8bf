/** The value of a pipeline. */

import type { TemplateFunctions } from "./builtins.ts";
import { TemplateError } from "./errors.ts";
import type { Command, Operand, Pipeline } from "./nodes.ts";
import { isMap, isStruct, isTrue, typeName, zero } from "./values.ts";

export interface Scope {
  readonly dot: unknown;
  /** By name with its `$`; a variable is a cell, so that an inner scope can assign to it. */
  readonly variables: Map<string, { value: unknown }>;
}

export interface Context {
  readonly name: string;
  readonly functions: TemplateFunctions;
}

/** Declares or assigns the pipeline's variables in `scope`. @throws TemplateError TEMPLATE_EXECUTION */
export function evaluate(context: Context, pipeline: Pipeline, scope: Scope): unknown {
  let value: unknown;
  pipeline.commands.forEach((command, index) => {
    value = evaluateCommand(context, command, scope, index === 0 ? [] : [value]);
  });
  for (const name of pipeline.declared) {
    const known = pipeline.assigns ? scope.variables.get(name) : undefined;
    if (known !== undefined) known.value = value;
    else if (pipeline.assigns) fail(context, pipeline.line, `undefined variable ${name}`);
    else scope.variables.set(name, { value });
  }
  return value;
}

/** `piped` holds the value of the command before, if there is one: it becomes the last argument. */
function evaluateCommand(context: Context, { operands }: Command, scope: Scope, piped: readonly unknown[]): unknown {
  const [first, ...rest] = operands;
  const values = (): readonly unknown[] => [
    ...rest.map((operand) => evaluateOperand(context, operand, scope)),
    ...piped,
  ];
  if (first.value.kind === "function") {
    const { name } = first.value;
    if (name === "and" || name === "or") return shortCircuit(context, name, rest, scope, piped);
    return call(context, first, name, values());
  }
  const value = evaluateOperand(context, first, scope);
  if (rest.length === 0 && piped.length === 0) return value;
  if (typeof value === "function") return guarded(context, first, () => value(...values()));
  return fail(context, first.line, `${first.source} has arguments but is no function`);
}

function shortCircuit(
  context: Context,
  name: "and" | "or",
  rest: readonly Operand[],
  scope: Scope,
  piped: readonly unknown[],
): unknown {
  let value: unknown;
  for (const operand of rest) {
    value = evaluateOperand(context, operand, scope);
    if (isTrue(value) === (name === "or")) return value;
  }
  return piped.length > 0 ? piped[0] : value;
}

function evaluateOperand(context: Context, operand: Operand, scope: Scope): unknown {
  const { value } = operand;
  switch (value.kind) {
    case "literal":
      return value.value;
    case "field":
      return fields(context, operand, scope.dot, value.path);
    case "variable": {
      const cell = scope.variables.get(value.name);
      if (cell === undefined) return fail(context, operand.line, `undefined variable ${value.name}`);
      return fields(context, operand, cell.value, value.path);
    }
    case "function":
      return call(context, operand, value.name, []);
    case "pipeline":
      return fields(
        context,
        operand,
        evaluate(context, value.pipeline, { ...scope, variables: new Map(scope.variables) }),
        value.path,
      );
  }
}

function fields(context: Context, operand: Operand, receiver: unknown, path: readonly string[]): unknown {
  return path.reduce((value, name) => field(context, operand, value, name), receiver);
}

function field(context: Context, { line, source }: Operand, receiver: unknown, name: string): unknown {
  if (receiver === zero || receiver === undefined) return receiver;
  if (receiver === null) return fail(context, line, `nil has no field ${name} at <${source}>`);
  if (isStruct(receiver)) {
    const value = receiver.field(name);
    return value === undefined ? fail(context, line, `can't evaluate field ${name} at <${source}>`) : value;
  }
  if (isMap(receiver)) return Object.hasOwn(receiver, name) ? receiver[name] : undefined;
  return fail(context, line, `can't evaluate field ${name} in ${typeName(receiver)} at <${source}>`);
}

/** Whole pods take a tenth of it. A function that quotes its own result again and again doubles it each time. */
const maxTextLength = 1_000_000;

function call(context: Context, operand: Operand, name: string, values: readonly unknown[]): unknown {
  const callee = Object.hasOwn(context.functions, name) ? context.functions[name] : undefined;
  if (callee === undefined) return fail(context, operand.line, `function ${JSON.stringify(name)} not defined`);
  const result = guarded(context, operand, () => callee(...values));
  if (typeof result === "string" && result.length > maxTextLength)
    return fail(context, operand.line, `${operand.source} makes a text of more than ${maxTextLength} characters`);
  return result;
}

/** An error of a function gets the place of its call. */
function guarded(context: Context, { line, source }: Operand, action: () => unknown): unknown {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof TemplateError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const place = { template: context.name, line };
    throw new TemplateError("TEMPLATE_EXECUTION", place, `error calling ${source}: ${reason}`, { cause });
  }
}

function fail(context: Context, line: number, reason: string): never {
  throw new TemplateError("TEMPLATE_EXECUTION", { template: context.name, line }, reason);
}
