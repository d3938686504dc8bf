/** Texts: case, trimming, parts, indentation, quoting. */
import type { TemplateFunctions } from "../builtins.ts";
import { anyText, integer, list, text } from "./arguments.ts";

const indent = (columns: unknown, value: unknown): string => {
  const pad = " ".repeat(integer(columns));
  return pad + text(value).replaceAll("\n", `\n${pad}`);
};
const trimSet = (set: unknown, value: unknown, left: boolean, right: boolean): string => {
  const characters = new Set(text(set));
  const all = [...text(value)];
  let [start, end] = [0, all.length];
  while (left && start < end && characters.has(all[start] ?? "")) start += 1;
  while (right && end > start && characters.has(all[end - 1] ?? "")) end -= 1;
  return all.slice(start, end).join("");
};
const capitalize = (value: string, change: (first: string) => string): string =>
  value.replaceAll(/(^|\s)(\S)/g, (_, before: string, first: string) => before + change(first));

export const textFunctions: TemplateFunctions = {
  lower: (value) => text(value).toLowerCase(),
  upper: (value) => text(value).toUpperCase(),
  title: (value) => capitalize(text(value), (first) => first.toUpperCase()),
  untitle: (value) => capitalize(text(value), (first) => first.toLowerCase()),
  trim: (value) => text(value).trim(),
  trimAll: (set, value) => trimSet(set, value, true, true),
  trimall: (set, value) => trimSet(set, value, true, true),
  trimPrefix: (prefix, value) =>
    text(value).startsWith(text(prefix)) ? text(value).slice(text(prefix).length) : text(value),
  trimSuffix: (suffix, value) => {
    const [whole, end] = [text(value), text(suffix)];
    return whole.endsWith(end) ? whole.slice(0, whole.length - end.length) : whole;
  },
  nospace: (value) => text(value).replaceAll(/\s/g, ""),
  contains: (part, value) => text(value).includes(text(part)),
  hasPrefix: (prefix, value) => text(value).startsWith(text(prefix)),
  hasSuffix: (suffix, value) => text(value).endsWith(text(suffix)),
  replace: (from, to, value) => text(value).replaceAll(text(from), () => text(to)),
  repeat: (count, value) => text(value).repeat(Math.max(0, integer(count))),
  /** A negative length counts from the end. */
  trunc: (length, value) => {
    const [size, whole] = [integer(length), text(value)];
    return size < 0 ? (whole.length + size > 0 ? whole.slice(size) : whole) : whole.slice(0, size);
  },
  substr: (start, end, value) => {
    const [from, to, whole] = [integer(start), integer(end), text(value)];
    return from < 0
      ? whole.slice(0, Math.max(0, to))
      : to < 0 || to > whole.length
        ? whole.slice(from)
        : whole.slice(from, to);
  },
  indent,
  nindent: (columns, value) => `\n${indent(columns, value)}`,
  quote: (...values) =>
    values
      .filter(isGiven)
      .map((value) => JSON.stringify(anyText(value)))
      .join(" "),
  squote: (...values) =>
    values
      .filter(isGiven)
      .map((value) => `'${anyText(value)}'`)
      .join(" "),
  cat: (...values) => values.filter(isGiven).map(anyText).join(" "),
  toString: (value: unknown) => anyText(value),
  toStrings: (values) => list(values).map(anyText),
  join: (separator, values) =>
    Array.isArray(values) ? values.filter(isGiven).map(anyText).join(text(separator)) : anyText(values),
  split: (separator, value) =>
    Object.fromEntries(
      text(value)
        .split(text(separator))
        .map((part, index) => [`_${index}`, part]),
    ),
  splitList: (separator, value) => text(value).split(text(separator)),
  sortAlpha: (values) => list(values).map(anyText).sort(),
  plural: (one, many, count) => (integer(count) === 1 ? one : many),
  snakecase: (value) => words(value).join("_"),
  kebabcase: (value) => words(value).join("-"),
  camelcase: (value) =>
    words(value)
      .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
      .join(""),
};

/** nil is left out of quoting and joining, unset fields are empty texts. */
function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function words(value: unknown): readonly string[] {
  const spaced = text(value).replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2");
  return spaced
    .toLowerCase()
    .split(/[\s_-]+/)
    .filter((word) => word !== "");
}
