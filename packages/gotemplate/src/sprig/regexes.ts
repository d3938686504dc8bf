/** Regular expressions. Go's syntax and JavaScript's agree on what manifests use. */
import type { TemplateFunctions } from "../builtins.ts";
import { integer, text } from "./arguments.ts";

const pattern = (value: unknown, flags = ""): RegExp => new RegExp(text(value), `u${flags}`);
/** `${1}` and `${name}` in Go's replacements are `$1` and `$<name>` here. */
const replacement = (value: unknown): string =>
  text(value).replaceAll(/\$\{(\w+)\}/g, (_, name: string) => (/^\d+$/.test(name) ? `$${name}` : `$<${name}>`));

export const regexFunctions: TemplateFunctions = {
  regexMatch: (expression, value) => pattern(expression).test(text(value)),
  mustRegexMatch: (expression, value) => pattern(expression).test(text(value)),
  regexFind: (expression, value) => pattern(expression).exec(text(value))?.[0] ?? "",
  regexFindAll: (expression, value, count) => {
    const found = [...text(value).matchAll(pattern(expression, "g"))].map(([match]) => match);
    return integer(count) < 0 ? found : found.slice(0, integer(count));
  },
  regexReplaceAll: (expression, value, to) => text(value).replaceAll(pattern(expression, "g"), replacement(to)),
  regexReplaceAllLiteral: (expression, value, to) => text(value).replaceAll(pattern(expression, "g"), () => text(to)),
  regexSplit: (expression, value, count) => {
    const parts = text(value).split(pattern(expression));
    return integer(count) < 0 ? parts : parts.slice(0, integer(count));
  },
  regexQuoteMeta: (value) => text(value).replaceAll(/[\\.+*?()|[\]{}^$]/g, "\\$&"),
};
