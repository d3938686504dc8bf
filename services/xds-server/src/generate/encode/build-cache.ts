/** What generators keep so that equal work is done once: results by their inputs, and pairs of objects that stand for both. */

/**
 * Shares what was built from equal inputs between views: by the inputs' primitives and the identities of their
 * objects, one level deep. Nothing is kept that no view holds.
 */
export class BuildCache<Inputs extends object, Result extends object> {
  readonly #results = new Map<string, WeakRef<Result>>();
  readonly #build: (inputs: Inputs) => Result;
  readonly #keyOf: (inputs: Inputs) => string;
  #sweepAt = 1024;

  constructor(build: (inputs: Inputs) => Result, keyOf: (inputs: Inputs) => string = identityKey) {
    this.#build = build;
    this.#keyOf = keyOf;
  }

  get(inputs: Inputs): Result {
    const key = this.#keyOf(inputs);
    const known = this.#results.get(key)?.deref();
    if (known !== undefined) return known;
    const result = this.#build(inputs);
    this.#results.set(key, new WeakRef(result));
    if (this.#results.size > this.#sweepAt) this.#sweep();
    return result;
  }

  #sweep(): void {
    for (const [key, reference] of this.#results) if (reference.deref() === undefined) this.#results.delete(key);
    this.#sweepAt = Math.max(1024, this.#results.size * 2);
  }
}

const identities = new WeakMap<object, number>();
let nextIdentity = 1;

/** Equal texts mean inputs that are equal one level deep. */
export function identityKey(inputs: object): string {
  return Object.entries(inputs)
    .map(
      ([name, value]) =>
        `${name}=${typeof value === "object" && value !== null ? `#${identityOf(value)}` : `${typeof value}:${String(value)}`}`,
    )
    .join("\n");
}

function identityOf(value: object): number {
  let identity = identities.get(value);
  if (identity === undefined) {
    identity = nextIdentity++;
    identities.set(value, identity);
  }
  return identity;
}

export interface Pair<First extends object, Second extends object> {
  readonly first: First;
  readonly second: Second;
}

/** The identical pair for the identical two, as an argument of queries. */
export class Pairs<First extends object, Second extends object> {
  readonly #pairs = new WeakMap<First, WeakMap<Second, Pair<First, Second>>>();

  of(first: First, second: Second): Pair<First, Second> {
    let ofFirst = this.#pairs.get(first);
    if (ofFirst === undefined) {
      ofFirst = new WeakMap();
      this.#pairs.set(first, ofFirst);
    }
    let pair = ofFirst.get(second);
    if (pair === undefined) {
      pair = { first, second };
      ofFirst.set(second, pair);
    }
    return pair;
  }
}
