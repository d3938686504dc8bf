/**
 * Chooses the parts of expectations that are held once. Equal values are found by interning: a node is shared when it is long enough and
 * enough places refer to it. A part keeps its name from recording to recording, also when all its uses change alike, so that such a change
 * shows as one changed block.
 */
import type { JsonValue } from "@flotilla/proto";
import { SharedPart } from "./documents.ts";

/** A value with SharedPart in place of what is shared. */
export type Folded = unknown;
export type SharedParts = ReadonlyMap<string, Folded>;

export interface Place {
  /** The same place in another recording has the same key. */
  readonly key: string;
  /** The value's name there, for names of parts. */
  readonly label: string;
  readonly value: JsonValue;
}

export interface FoldedPlaces {
  /** By the key of a place. */
  readonly values: ReadonlyMap<string, Folded>;
  readonly parts: SharedParts;
}

/** Shorter values stand where they are used. */
const leastLength = 120;
const leastUses = 4;
/** Parts that are shared already stay so with fewer uses: a recording is not to move parts about. */
const leastUsesOfKnown = 2;

interface Node {
  readonly id: number;
  readonly value: JsonValue;
  readonly length: number;
  readonly label: string;
  readonly children: ReadonlyMap<string | number, Node>;
  uses: number;
}

export function foldPlaces(places: readonly Place[], before: FoldedPlaces): FoldedPlaces {
  const interner = new Interner();
  const roots = new Map(places.map(({ key, label, value }) => [key, interner.add(value, label)]));
  for (const root of roots.values()) if (root !== undefined) root.uses += 1;
  const kept = keptParts(interner, roots, before);
  const names = nameParts(interner, roots, kept, before);
  const fold = (node: Node, isPart = false): Folded => {
    const name = names.get(node);
    if (name !== undefined && !isPart) return new SharedPart(name);
    const child = (key: string | number, value: JsonValue | undefined) => {
      const found = node.children.get(key);
      return found === undefined ? value : fold(found);
    };
    return Array.isArray(node.value)
      ? node.value.map((value, index) => child(index, value))
      : Object.fromEntries(entriesOf(node.value).map(([key, value]) => [key, child(String(key), value)]));
  };
  const foldPart = (node: Node, name: string) => (kept.parts.has(node) ? before.parts.get(name) : fold(node, true));
  return {
    values: new Map(
      places.map(({ key, value }) => [
        key,
        kept.places.has(key) ? before.values.get(key) : foldOr(roots.get(key), fold, value),
      ]),
    ),
    parts: new Map(
      [...names].sort(([, a], [, b]) => (a < b ? -1 : 1)).map(([node, name]) => [name, foldPart(node, name)]),
    ),
  };
}

interface Kept {
  /** Keys of places whose text stays, as their value does. */
  readonly places: ReadonlySet<string>;
  /** Parts with their old name and text. */
  readonly parts: ReadonlyMap<Node, string>;
}

function keptParts(interner: Interner, roots: ReadonlyMap<string, Node | undefined>, before: FoldedPlaces): Kept {
  const unfold = unfolder(before.parts);
  const places = new Set<string>();
  const needed = new Set<string>();
  const need = (folded: Folded): void => {
    if (folded instanceof SharedPart) {
      if (needed.has(folded.name)) return;
      needed.add(folded.name);
      need(before.parts.get(folded.name));
    } else if (typeof folded === "object" && folded !== null) for (const item of Object.values(folded)) need(item);
  };
  for (const [key, folded] of before.values) {
    const root = roots.get(key);
    if (root === undefined || interner.find(unfold(folded)) !== root) continue;
    places.add(key);
    need(folded);
  }
  const present = new Map<string, Node>();
  for (const [name, part] of before.parts) {
    const node = interner.find(unfold(part));
    if (node === undefined) continue;
    present.set(name, node);
    if (node.length >= leastLength && node.uses >= leastUsesOfKnown) need(new SharedPart(name));
  }
  return {
    places,
    parts: new Map([...present].filter(([name]) => needed.has(name)).map(([name, node]) => [node, name])),
  };
}

function foldOr(node: Node | undefined, fold: (node: Node) => Folded, value: JsonValue): Folded {
  return node === undefined ? value : fold(node);
}

/** Puts shared parts in their places. Parts are unfolded once, so that equal values are one object. */
export function unfolder(parts: SharedParts): (folded: Folded) => JsonValue {
  const unfolded = new Map<string, JsonValue>();
  const unfold = (folded: Folded): JsonValue => {
    if (folded instanceof SharedPart) {
      const { name } = folded;
      const known = unfolded.get(name);
      if (known !== undefined) return known;
      if (!parts.has(name)) throw new Error(`no shared part is called ${name}`);
      const value = unfold(parts.get(name));
      unfolded.set(name, value);
      return value;
    }
    if (Array.isArray(folded)) return folded.map(unfold);
    if (typeof folded !== "object" || folded === null) return folded as JsonValue;
    return Object.fromEntries(Object.entries(folded).map(([key, value]) => [key, unfold(value)]));
  };
  return unfold;
}

class Interner {
  readonly #nodes = new Map<string, Node>();

  nodes(): Iterable<Node> {
    return this.#nodes.values();
  }

  /** Undefined for what is no object and no list. */
  add(value: JsonValue, label: string): Node | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const children = new Map<string | number, Node>();
    for (const [key, item] of entriesOf(value)) {
      const child = this.add(item, labelOf(item, Array.isArray(value) ? label : String(key)));
      if (child !== undefined) children.set(key, child);
    }
    const content = contentOf(value, children);
    const known = this.#nodes.get(content);
    if (known !== undefined) return known;
    const node: Node = { id: this.#nodes.size, value, length: lengthOf(value, children), label, children, uses: 0 };
    this.#nodes.set(content, node);
    for (const child of children.values()) child.uses += 1;
    return node;
  }

  /** The node of an equal value. */
  find(value: JsonValue): Node | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    const children = new Map<string | number, Node>();
    for (const [key, item] of entriesOf(value)) {
      if (typeof item !== "object" || item === null) continue;
      const child = this.find(item);
      if (child === undefined) return undefined;
      children.set(key, child);
    }
    return this.#nodes.get(contentOf(value, children));
  }
}

function contentOf(value: JsonValue, children: ReadonlyMap<string | number, Node>): string {
  const parts = entriesOf(value).map(([key, item]) => {
    const child = children.get(key);
    return `${JSON.stringify(key)}:${child === undefined ? JSON.stringify(item) : `#${child.id}`}`;
  });
  return `${Array.isArray(value) ? "[" : "{"}${parts.sort().join()}`;
}

function lengthOf(value: JsonValue, children: ReadonlyMap<string | number, Node>): number {
  return entriesOf(value).reduce((sum, [key, item]) => {
    const own = Array.isArray(value) ? 1 : String(key).length + 4;
    return sum + own + (children.get(key)?.length ?? JSON.stringify(item).length);
  }, 2);
}

/** Names for what is to be shared: the name it has, that of the part it replaces everywhere, or a new one. */
function nameParts(
  interner: Interner,
  roots: ReadonlyMap<string, Node | undefined>,
  kept: Kept,
  before: FoldedPlaces,
): ReadonlyMap<Node, string> {
  const isLong = (node: Node) => node.length >= leastLength;
  const names = new Map<Node, string>(kept.parts);
  const taken = new Set(names.values());
  for (const [node, name] of replacements(roots, before)) {
    if (names.has(node) || taken.has(name) || !isLong(node) || node.uses < leastUsesOfKnown) continue;
    names.set(node, name);
    taken.add(name);
  }
  for (const node of interner.nodes()) {
    if (names.has(node) || !isLong(node) || node.uses < leastUses) continue;
    const name = freeName(node.label, taken);
    names.set(node, name);
    taken.add(name);
  }
  return names;
}

/** The values that stand now where a part stood, the most frequent first. */
function replacements(
  roots: ReadonlyMap<string, Node | undefined>,
  before: FoldedPlaces,
): readonly (readonly [Node, string])[] {
  const votes = new Map<string, Map<Node, number>>();
  const walk = (folded: Folded, node: Node | undefined): void => {
    if (node === undefined) return;
    if (folded instanceof SharedPart) {
      const of = votes.get(folded.name) ?? new Map<Node, number>();
      votes.set(folded.name, of);
      const already = of.get(node) ?? 0;
      of.set(node, already + 1);
      if (already === 0) walk(before.parts.get(folded.name), node);
    } else if (typeof folded === "object" && folded !== null) {
      for (const [key, value] of entriesOf(folded as JsonValue)) walk(value, node.children.get(key));
    }
  };
  for (const [key, folded] of before.values) walk(folded, roots.get(key));
  return [...votes]
    .flatMap(([name, of]) => [...of].map(([node, count]) => ({ name, node, count })))
    .sort((a, b) => b.count - a.count)
    .map(({ name, node }) => [node, name] as const);
}

function entriesOf(value: JsonValue): readonly (readonly [string | number, JsonValue])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  return typeof value === "object" && value !== null ? (Object.entries(value) as [string, JsonValue][]) : [];
}

/** An object's own name or type, or the field that holds it. */
function labelOf(value: JsonValue, field: string): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return field;
  const { name, "@type": type } = value;
  if (typeof name === "string" && /^[\w./-]{1,60}$/.test(name)) return name;
  return typeof type === "string" ? type.slice(type.lastIndexOf(".") + 1) : field;
}

function freeName(label: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? label : `${label}~${count}`;
    if (!taken.has(name)) return name;
  }
}
