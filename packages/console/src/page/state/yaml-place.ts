/**
 * The place of the caret in a YAML text that is being written: the fields around it, and the word that is typed. Lines are read one by one, since the text
 * is seldom valid while somebody writes. Block style only: within `{}`, `[]`, quotes, comments and block scalars there is no place.
 */

export interface YamlPlace {
  /** Fields of the caret's document, where they are written. */
  readonly kind: string | undefined;
  readonly apiVersion: string | undefined;
  /** Fields around the caret, from the outermost: `["spec", "http", "match"]`. */
  readonly path: readonly string[];
  /** `key`: a field of `path`, or an element of the list there; `value`: of the last field of `path`. */
  readonly typed: "key" | "value";
  /** The caret is within an element of the list that the last field of `path` is. */
  readonly isInItem: boolean;
  /** Fields that are there already, beside the caret. */
  readonly present: ReadonlySet<string>;
  /** Typed so far; `from` is the offset at which it begins. */
  readonly word: string;
  readonly from: number;
  /** Column of a field that is written here. */
  readonly column: number;
}

/** A field around a line, or an element of a list, which has no name. */
interface Level {
  readonly column: number;
  readonly field?: string;
}

interface Line {
  /** Columns of the dashes before the content. */
  readonly dashes: readonly number[];
  /** Of the content. */
  readonly column: number;
  readonly content: string;
}

/** Undefined where nothing is completed. */
export function yamlPlace(text: string, caret: number): YamlPlace | undefined {
  const begin = text.lastIndexOf("\n", caret - 1) + 1;
  const end = text.indexOf("\n", caret);
  const after = end === -1 ? "" : text.slice(end + 1);
  if (text.slice(caret, end === -1 ? undefined : end).trim() !== "") return undefined;
  const above = lastDocument(text.slice(0, begin).split("\n"));
  const below = firstDocument(after.split("\n"));
  const line = lineOf(text.slice(begin, caret));
  const levels = levelsAbove(above, line.dashes[0] ?? line.column);
  if (levels === undefined) return undefined;
  for (const column of line.dashes) enterItem(levels, column);
  const typed = typedIn(line.content);
  if (typed === undefined) return undefined;
  leave(levels, line.column);
  const isInItem = levels.length > 0 && levels.at(-1)?.field === undefined;
  if (typed.field !== undefined) levels.push({ column: line.column, field: typed.field });
  const document = [...above, ...below];
  return {
    kind: topField(document, "kind"),
    apiVersion: topField(document, "apiVersion"),
    path: levels.flatMap(({ field }) => field ?? []),
    typed: typed.field === undefined ? "key" : "value",
    isInItem: typed.field === undefined && isInItem,
    present: fieldsBeside(line, above, below),
    ...{ word: typed.word, from: caret - typed.word.length, column: line.column },
  };
}

const isSeparator = (line: string): boolean => /^---(?:\s|$)/.test(line);

function lastDocument(lines: readonly string[]): readonly string[] {
  // The caret's own line follows the last newline.
  return lines.slice(lines.findLastIndex(isSeparator) + 1, -1);
}

function firstDocument(lines: readonly string[]): readonly string[] {
  const at = lines.findIndex(isSeparator);
  return at === -1 ? lines : lines.slice(0, at);
}

function lineOf(text: string): Line {
  const dashes: number[] = [];
  let column = afterSpaces(text, 0);
  while (text[column] === "-" && (text[column + 1] === " " || column + 1 === text.length)) {
    dashes.push(column);
    column = afterSpaces(text, column + 1);
  }
  return { dashes, column, content: text.slice(column) };
}

function afterSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === " ") at++;
  return at;
}

const fieldShape = /^([\w./-]+):(?:\s|$)/;

/** Levels that a line with an indent may be in; undefined within a block scalar. */
function levelsAbove(lines: readonly string[], caretIndent: number): Level[] | undefined {
  const levels: Level[] = [];
  let scalarColumn: number | undefined;
  for (const text of lines) {
    if (text.trim() === "") continue;
    const indent = afterSpaces(text, 0);
    if (scalarColumn !== undefined && indent > scalarColumn) continue;
    scalarColumn = undefined;
    if (text[indent] === "#") continue;
    const { dashes, column, content } = lineOf(text);
    for (const dash of dashes) enterItem(levels, dash);
    const field = fieldShape.exec(content)?.[1];
    if (field !== undefined) {
      leave(levels, column);
      levels.push({ column, field });
    }
    if (/(?:^|:\s+)[|>][+-]?\d?\s*$/.test(content)) scalarColumn = field === undefined ? (dashes.at(-1) ?? 0) : column;
  }
  return scalarColumn === undefined || caretIndent <= scalarColumn ? levels : undefined;
}

/** Leaves what ended before content at a column. */
function leave(levels: Level[], column: number): void {
  while (levels.length > 0 && (levels.at(-1)?.column ?? 0) >= column) levels.pop();
}

/** A list may stand at the column of its field. */
function enterItem(levels: Level[], column: number): void {
  for (let last = levels.at(-1); last !== undefined; last = levels.at(-1)) {
    if (last.column < column || (last.column === column && last.field !== undefined)) break;
    levels.pop();
  }
  levels.push({ column });
}

function typedIn(content: string): { readonly word: string; readonly field?: string } | undefined {
  if (/^[\w.-]*$/.test(content)) return { word: content };
  const found = /^([\w./-]+):\s+([\w./-]*)$/.exec(content);
  return found === null ? undefined : { field: found[1] ?? "", word: found[2] ?? "" };
}

function topField(lines: readonly string[], name: string): string | undefined {
  for (const line of lines) {
    const found = line.startsWith(`${name}:`) ? /^[\w./-]+/.exec(line.slice(name.length + 1).trim()) : null;
    if (found !== null) return found[0];
  }
  return undefined;
}

/** Fields of the mapping that the line is part of: those above it, unless an element of a list begins here, and those below. */
function fieldsBeside(
  { dashes, column }: Line,
  above: readonly string[],
  below: readonly string[],
): ReadonlySet<string> {
  const found = new Set<string>();
  /** False: the mapping ends here. */
  const take = (text: string, isAbove: boolean): boolean => {
    const line = lineOf(text);
    if (line.content === "" || line.content.startsWith("#")) return true;
    const startsItem = line.dashes.length > 0 && (line.dashes[0] ?? 0) < column;
    if (line.column === column && (isAbove || !startsItem)) {
      const field = fieldShape.exec(line.content)?.[1];
      if (field !== undefined) found.add(field);
    }
    return line.column >= column && !startsItem;
  };
  if (dashes.length === 0) for (const text of above.toReversed()) if (!take(text, true)) break;
  for (const text of below) if (!take(text, false)) break;
  return found;
}
