/**
 * Names that a client asks for. Proxies of one view ask for the same ones, so a server interns them:
 * a thousand subscriptions to five hundred names are one set.
 */

declare const brand: unique symbol;

/** The sorted names, joined by newlines (no resource name holds one); equal sets have equal keys. */
export type NameSetKey = string & { readonly [brand]: "NameSetKey" };

export interface NameSet {
  readonly key: NameSetKey;
  readonly size: number;
  has(name: string): boolean;
  /** In code unit order. */
  [Symbol.iterator](): Iterator<string>;
}

export function nameSet(names: Iterable<string>): NameSet {
  const sorted = new Set([...new Set(names)].filter((name) => name !== "").sort());
  return {
    key: [...sorted].join("\n") as NameSetKey,
    size: sorted.size,
    has: (name) => sorted.has(name),
    [Symbol.iterator]: () => sorted[Symbol.iterator](),
  };
}

/** In code unit order. */
export function namesOfKey(key: NameSetKey): readonly string[] {
  return key === "" ? [] : key.split("\n");
}

export const noNames: NameSet = nameSet([]);
