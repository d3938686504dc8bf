/** A Go text/template: parsed once, executed on any data. */
import { builtins, type TemplateFunctions } from "./builtins.ts";
import { execute } from "./execute.ts";
import { parse } from "./parse.ts";

export interface TemplateOptions {
  /** Stands in messages. */
  readonly name?: string;
  /** Beside the built-in ones, which they may replace. */
  readonly functions?: TemplateFunctions;
}

export interface Template {
  /** Templates that the text defines. */
  readonly defined: readonly string[];
  /** @throws TemplateError TEMPLATE_EXECUTION */
  execute(data: unknown): string;
}

/** Go's own limit is higher; no honest template nests this deep. */
const maxDepth = 1000;

/** @throws TemplateError TEMPLATE_SYNTAX */
export function parseTemplate(source: string, { name = "template", functions = {} }: TemplateOptions = {}): Template {
  const { body, defined } = parse(name, source);
  const execution = { name, functions: { ...builtins, ...functions }, defined, maxDepth };
  return {
    defined: [...defined.keys()],
    execute: (data) => execute(execution, body, data),
  };
}
