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

/** Gives back the first of equal sets for as long as somebody holds it. */
export class NameInterner {
  readonly #sets = new Map<string, WeakRef<NameSet>>();
  #sweepAt = 64;

  intern(set: NameSet): NameSet {
    const known = this.#sets.get(set.key)?.deref();
    if (known !== undefined) return known;
    this.#sets.set(set.key, new WeakRef(set));
    if (this.#sets.size > this.#sweepAt) this.#sweep();
    return set;
  }

  #sweep(): void {
    for (const [key, reference] of this.#sets) if (reference.deref() === undefined) this.#sets.delete(key);
    this.#sweepAt = Math.max(64, this.#sets.size * 2);
  }
}
