/**
 * Names that a client asks for. Proxies of one view ask for the same ones, so a server interns them:
 * a thousand subscriptions to five hundred names are one set.
 */

export interface NameSet {
  /** The sorted names, joined by newlines (no resource name holds one); equal sets have equal keys. */
  readonly key: string;
  readonly size: number;
  has(name: string): boolean;
  /** In code unit order. */
  [Symbol.iterator](): Iterator<string>;
}

export function nameSet(names: Iterable<string>): NameSet {
  const sorted = new Set([...new Set(names)].filter((name) => name !== "").sort());
  return {
    key: [...sorted].join("\n"),
    size: sorted.size,
    has: (name) => sorted.has(name),
    [Symbol.iterator]: () => sorted[Symbol.iterator](),
  };
}

export const noNames: NameSet = nameSet([]);
