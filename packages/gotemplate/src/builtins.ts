/** The functions of text/template itself; `and` and `or` are the evaluator's, since they need not look at all arguments. */
import { sprintf } from "./printf.ts";
import { compare, equal, formatValue, isMap, isNothing, isStruct, isTrue, length, typeName, zero } from "./values.ts";

export type TemplateFunction = (...values: readonly unknown[]) => unknown;
export type TemplateFunctions = Readonly<Record<string, TemplateFunction>>;

export const builtins: TemplateFunctions = {
  not: (value) => !isTrue(value),
  len: (value) => length(value) ?? fail(`len of ${typeName(value)}`),
  index: (value, ...keys) => keys.reduce(indexOne, value),
  slice: (value, from = 0, to = undefined) => sliceOf(value, from, to),
  eq: (value, ...others) => {
    if (others.length === 0) fail("missing argument for comparison");
    return others.some((other) => equal(value, other) ?? fail(incomparable(value, other)));
  },
  ne: (a, b) => !(equal(a, b) ?? fail(incomparable(a, b))),
  lt: (a, b) => order(a, b) < 0,
  le: (a, b) => order(a, b) <= 0,
  gt: (a, b) => order(a, b) > 0,
  ge: (a, b) => order(a, b) >= 0,
  print: (...values) => sprint(values),
  println: (...values) => `${values.map(formatValue).join(" ")}\n`,
  printf: (format, ...values) => sprintf(String(format), ...values),
  html: (...values) => escapeHtml(sprint(values)),
  js: (...values) => JSON.stringify(sprint(values)).slice(1, -1).replaceAll("'", "\\'"),
  urlquery: (...values) => encodeURIComponent(sprint(values)).replaceAll("%20", "+"),
  call: (callee, ...values) => (typeof callee === "function" ? callee(...values) : fail(`call of ${typeName(callee)}`)),
};

/** A missing key of a map gives the zero value, as in Go. */
function indexOne(value: unknown, key: unknown): unknown {
  if (value === zero) return zero;
  if (isNothing(value)) return fail("index of untyped nil");
  if (Array.isArray(value) || typeof value === "string") {
    if (typeof key !== "number") return fail(`cannot index a list with ${typeName(key)}`);
    if (key < 0 || key >= value.length) return fail(`index out of range: ${key}`);
    return typeof value === "string" ? value.charCodeAt(key) : value[key];
  }
  if (isStruct(value)) return fail("cannot index a struct");
  if (!isMap(value)) return fail(`cannot index ${typeName(value)}`);
  const name = formatValue(key);
  return Object.hasOwn(value, name) ? value[name] : zero;
}

function sliceOf(value: unknown, from: unknown, to: unknown): unknown {
  if (typeof value !== "string" && !Array.isArray(value)) return fail(`cannot slice ${typeName(value)}`);
  const end = to === undefined ? value.length : Number(to);
  if (Number(from) > end || end > value.length) fail(`index out of range: ${formatValue(to ?? from)}`);
  return value.slice(Number(from), end);
}

function order(a: unknown, b: unknown): number {
  return compare(a, b) ?? fail(incomparable(a, b));
}

function incomparable(a: unknown, b: unknown): string {
  return `incompatible types for comparison: ${typeName(a)} and ${typeName(b)}`;
}

/** Blanks stand between two values of which none is a text. */
function sprint(values: readonly unknown[]): string {
  return values.reduce<string>((text, value, index) => {
    const before = values[index - 1];
    const spaced = index > 0 && typeof value !== "string" && typeof before !== "string";
    return `${text}${spaced ? " " : ""}${formatValue(value)}`;
  }, "");
}

const htmlEntities: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&#34;",
    "'": "&#39;",
  }),
);

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => htmlEntities.get(character) ?? character);
}

/** Ends the execution; the evaluator adds the place. */
export function fail(reason: string): never {
  throw new Error(reason);
}
