/**
 * YAML of templates, parsed by parts: the output of a template for different pods differs in a few lines, and parsing is most of the work of an
 * injection. A block mapping or sequence whose text is not known is split into its entries, down to single ones, which the YAML library parses.
 *
 * Splitting by indentation can be wrong only within a text in quotes or brackets that goes over several lines. Then a part ends within it, the
 * library refuses that part, and the whole text is parsed at once, as it also is for anchors, whose aliases stand elsewhere.
 */
import { parse, type ScalarTag } from "yaml";

/** The value without the fields of mappings that are null. @throws YAMLParseError of the whole text */
export type FragmentParser = (text: string) => unknown;

const maxFragments = 1_000;
const maxFragmentLength = 2_048;

/** Parts are kept as long as the parser: one for each injection configuration. They are frozen, as several results share them. */
export function createFragmentParser(): FragmentParser {
  const known = new Map<string, unknown>();
  const remember = (text: string, value: unknown): unknown => {
    if (text.length > maxFragmentLength) return value;
    const [oldest] = known.keys();
    if (known.size >= maxFragments && oldest !== undefined) known.delete(oldest);
    known.set(text, deepFreeze(value));
    return value;
  };
  const fragment = (text: string): unknown => {
    const value = known.get(text);
    if (value === undefined) return remember(text, compose(text, fragment) ?? parseWhole(text));
    known.delete(text);
    known.set(text, value);
    return value;
  };
  return (text) => {
    try {
      if (!/^(?:---|\.\.\.|%)/m.test(text)) return fragment(text);
    } catch {
      // The library's error for the whole text has the right line.
    }
    return parseWhole(text);
  };
}

/** Undefined where the text is no block that can be split. */
function compose(text: string, fragment: (text: string) => unknown): unknown {
  const lines = text.split("\n");
  const first = lines.findIndex(hasContent);
  const indent = indentOf(lines[first] ?? "");
  if (first === -1 || lines.some((line) => hasContent(line) && indentOf(line) < indent)) return undefined;
  return (lines[first] ?? "").startsWith("- ", indent)
    ? composeSequence(lines.slice(first), indent, fragment)
    : composeMapping(lines.slice(first), indent, fragment);
}

function composeSequence(lines: readonly string[], indent: number, fragment: (text: string) => unknown): unknown {
  const items = split(lines, (line) => indentOf(line) === indent && line.startsWith("- ", indent));
  // A single entry is for the library.
  if (items === undefined || items.length < 2) return itemOf(items?.[0], indent, fragment);
  return items.map((item) => {
    const value = fragment(item.join("\n"));
    return Array.isArray(value) && value.length === 1 ? value[0] : mistaken();
  });
}

/** `- name: x` with further lines, as a sequence of one mapping. */
function itemOf(item: readonly string[] | undefined, indent: number, fragment: (text: string) => unknown): unknown {
  const [head = "", ...rest] = item ?? [];
  if (!rest.some(hasContent) || !keyForm.test(head.slice(indent + 2))) return undefined;
  return [fragment([`${" ".repeat(indent + 2)}${head.slice(indent + 2)}`, ...rest].join("\n"))];
}

const keyForm = /^(?:[A-Za-z0-9_./-]+|"[^"\\]*"):(?:\s|$)/;
const bareKey = /^\s*(?:([A-Za-z0-9_./-]+)|"([^"\\]*)"):\s*$/;

function composeMapping(lines: readonly string[], indent: number, fragment: (text: string) => unknown): unknown {
  const entries = split(lines, (line) => indentOf(line) === indent && keyForm.test(line.slice(indent)));
  if (entries === undefined) return undefined;
  const [head = "", ...body] = entries[0] ?? [];
  if (entries.length === 1) {
    const { 1: plain, 2: quoted } = bareKey.exec(head) ?? [];
    const key = plain ?? quoted;
    // `1:` and `true:` are no texts: the library names them.
    if (key === undefined || !/^[A-Za-z].*[A-Za-z]{2}/.test(key) || /^(?:true|false|null|yes|off)$/i.test(key))
      return undefined;
    const value = body.some(hasContent) ? fragment(body.join("\n")) : null;
    return value === null ? {} : Object.fromEntries([[key, value]]);
  }
  const values = entries.map((entry) => fragment(entry.join("\n")));
  const all = values.flatMap((value) => (isMapping(value) ? Object.entries(value) : mistaken()));
  // Of a repeated key the last one counts, as in Istio.
  return Object.fromEntries(all);
}

/** Lines by the ones that begin an entry; undefined where a line of that indentation is something else than the end of brackets. */
function split(
  lines: readonly string[],
  begins: (line: string) => boolean,
): readonly (readonly string[])[] | undefined {
  const entries: string[][] = [];
  const indent = indentOf(lines[0] ?? "");
  for (const line of lines) {
    const current = entries.at(-1);
    if (begins(line)) entries.push([line]);
    else if (current === undefined) return undefined;
    else {
      const isForeign = hasContent(line) && indentOf(line) === indent && !/^\s*(?:[\]}],?|- .*)$/.test(line);
      if (isForeign) return undefined;
      current.push(line);
    }
  }
  return entries;
}

/** The text was split where it should not have been. */
function mistaken(): never {
  throw new SyntaxError("no such block");
}

function parseWhole(text: string): unknown {
  const value: unknown = parse(text, {
    merge: true,
    uniqueKeys: false,
    customTags: (tags) => [...olderScalars, ...tags],
  });
  return withoutNulls(value);
}

/** Scalars of YAML 1.1, in which Istio reads what templates make: `defaultMode: 0644`, `readOnly: yes`. */
const olderScalars: readonly ScalarTag[] = [
  {
    ...{ tag: "tag:yaml.org,2002:int", default: true, test: /^[-+]?0[0-7]+$/ },
    resolve: (text) => Number.parseInt(text, 8),
  },
  {
    ...{ tag: "tag:yaml.org,2002:bool", default: true },
    test: /^(?:yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF)$/,
    resolve: (text) => ["yes", "on"].includes(text.toLowerCase()),
  },
];

/** In a template, a field without a value is one left out: it does not delete what the pod has. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isMapping(value)) return value;
  const parts = Object.entries(value).filter(([, part]) => part !== null);
  return Object.fromEntries(parts.map(([name, part]) => [name, withoutNulls(part)]));
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasContent(line: string): boolean {
  return !/^\s*(?:#.*)?$/.test(line);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
