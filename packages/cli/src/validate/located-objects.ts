/** Objects of YAML or JSON text, each able to name the line and column of any of its fields. */
import { wrongKeys } from "@flotilla/sources";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, Scalar } from "yaml";

/** Counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface LocatedObject {
  readonly value: unknown;
  /** Of a field such as `spec.http[0].match`, or of the nearest field above it that is there. */
  placeOf(field: string): Place;
}

/** Content of a file: objects, and the places that are not YAML. */
export interface LocatedText {
  readonly objects: readonly LocatedObject[];
  readonly syntax: readonly (Place & { readonly reason: string })[];
}

/** `kind: List` stands for its items; empty documents give nothing. Aliases are bounded, so that a YAML bomb is a syntax error. */
export function locateObjects(text: string): LocatedText {
  const lines = new LineCounter();
  // The parser compares repeated keys with each other: many of them take minutes.
  const documents = parseAllDocuments(text, { lineCounter: lines, merge: true, uniqueKeys: false });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const objects: LocatedObject[] = [];
  const syntax: (Place & { readonly reason: string })[] = [];
  for (const document of Array.isArray(documents) ? documents : []) {
    const refuse = (offset: number, message: string) => syntax.push({ ...place(offset), reason: firstLine(message) });
    const wrong = [
      ...document.errors.map(({ pos, message }) => ({ offset: pos[0], reason: message })),
      ...wrongKeys(document),
    ];
    if (wrong.length > 0) {
      for (const { offset, reason } of wrong) refuse(offset, reason);
      continue;
    }
    const root: unknown = document.contents;
    try {
      const value: unknown = document.toJS();
      const placeOf = (node: unknown, field: string): Place => {
        const { at, value: last, rest } = nearest(node, field);
        return placeInBlock(last, rest, { place, text }) ?? place(startOf(at));
      };
      objects.push(...expanded({ value, node: root as Node | null, prefix: [] }, placeOf));
    } catch (error) {
      refuse(startOf(root), error instanceof Error ? error.message : String(error));
    }
  }
  return { objects, syntax };
}

interface Part {
  readonly value: unknown;
  readonly node: Node | null;
  readonly prefix: readonly string[];
}

type PlaceOf = (node: unknown, field: string) => Place;

function expanded({ value, node }: Part, placeOf: PlaceOf): readonly LocatedObject[] {
  if (value === null || value === undefined) return [];
  const { kind, items } = value as { readonly kind?: unknown; readonly items?: unknown };
  if (kind !== "List" || !Array.isArray(items)) return [{ value, placeOf: (field) => placeOf(node, field) }];
  const list = isMap(node) ? node.get("items", true) : undefined;
  return items.flatMap((item: unknown, index) => {
    const itemNode = isSeq(list) ? (list.items[index] as Node | undefined) : undefined;
    return expanded({ value: item, node: itemNode ?? node, prefix: [] }, placeOf);
  });
}

/** Of a field, or of the last one on the way to it: what its place is taken of, its value, and what of the path is left. */
interface Nearest {
  readonly at: unknown;
  readonly value: unknown;
  readonly rest: string;
}

/** A key stands in brackets where it is one of a map's. */
function nearest(root: unknown, field: string): Nearest {
  let node: unknown = root;
  let at: unknown = root;
  let rest = field;
  while (rest !== "" && !isAlias(node)) {
    const step = isSeq(node) ? indexStep(node.items, rest) : isMap(node) ? keyStep(node.items, rest) : undefined;
    if (step === undefined) break;
    ({ node, at, rest } = step);
  }
  return { at, value: node, rest };
}

interface Source {
  readonly place: (offset: number) => Place;
  readonly text: string;
}

/** Of a field of YAML that is written as a block (`mesh: |`): its lines are lines of the file, behind an indentation. */
function placeInBlock(node: unknown, rest: string, { place, text }: Source): Place | undefined {
  if (!isScalar(node) || node.type !== Scalar.BLOCK_LITERAL || !rest.startsWith(".")) return undefined;
  const [inner] = locateObjects(String(node.value)).objects;
  if (inner === undefined) return undefined;
  const { line, column } = inner.placeOf(rest.slice(1));
  const { line: head } = place(startOf(node));
  const content = text.slice(startOf(node)).split("\n").slice(1);
  const indentation = /^ */.exec(content.find((one) => one.trim() !== "") ?? "")?.[0].length ?? 0;
  return { line: head + line, column: column + indentation };
}

interface Step {
  readonly node: unknown;
  /** The node that gives the place: the key of a map's member. */
  readonly at: unknown;
  readonly rest: string;
}

function indexStep(members: readonly unknown[], path: string): Step | undefined {
  const [whole, index] = /^\[(\d+)\]/.exec(path) ?? [];
  const node = members[Number(index ?? Number.NaN)];
  return whole === undefined || node === undefined ? undefined : { node, at: node, rest: path.slice(whole.length) };
}

function keyStep(pairs: readonly { readonly key: unknown; readonly value: unknown }[], path: string): Step | undefined {
  const plain = path.startsWith(".") ? path.slice(1) : path;
  let found: Step | undefined;
  for (const { key, value } of pairs) {
    const name = isScalar(key) ? String(key.value) : "";
    for (const text of [name, `[${name}]`]) {
      const from = text.startsWith("[") ? path : plain;
      const rest = from.slice(text.length);
      const ends = rest === "" || rest.startsWith(".") || rest.startsWith("[");
      // Keys may have dots: of two that fit, the longer one is meant.
      if (from.startsWith(text) && ends && (found === undefined || rest.length < found.rest.length))
        found = { node: value, at: key, rest };
    }
  }
  return found;
}

function startOf(node: unknown): number {
  const { range } = (node ?? {}) as { readonly range?: readonly number[] | null };
  return range?.[0] ?? 0;
}

function firstLine(message: string): string {
  return (message.split("\n", 1)[0] ?? message).replace(/ at line \d+, column \d+:?$/, "");
}
