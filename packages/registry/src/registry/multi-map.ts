/** Many values for one key; keys without values take no room. */
export class MultiMap<Value> {
  readonly #sets = new Map<string, Set<Value>>();

  add(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set === undefined) this.#sets.set(key, new Set([value]));
    else set.add(value);
  }

  remove(key: string, value: Value): void {
    const set = this.#sets.get(key);
    if (set?.delete(value) && set.size === 0) this.#sets.delete(key);
  }

  get(key: string): ReadonlySet<Value> {
    return this.#sets.get(key) ?? empty;
  }
}

const empty: ReadonlySet<never> = new Set();
