/**
 * Shares what was built from equal inputs between views: by the inputs' primitives and the identities of their
 * objects, one level deep. Nothing is kept that no view holds.
 */
export class BuildCache<Inputs extends object, Result extends object> {
  readonly #results = new Map<string, WeakRef<Result>>();
  readonly #build: (inputs: Inputs) => Result;
  #sweepAt = 1024;

  constructor(build: (inputs: Inputs) => Result) {
    this.#build = build;
  }

  get(inputs: Inputs): Result {
    const key = identityKey(inputs);
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

function identityKey(inputs: object): string {
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
