/** Gives back the first of equal values for as long as somebody holds it. */
export class Interner<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>();
  #sweepAt = 64;

  /** `make` is called when there is no value of this key. */
  intern(key: string, make: () => Value): Value {
    const known = this.#values.get(key)?.deref();
    if (known !== undefined) return known;
    const value = make();
    this.#values.set(key, new WeakRef(value));
    if (this.#values.size > this.#sweepAt) this.#sweep();
    return value;
  }

  #sweep(): void {
    for (const [key, reference] of this.#values) if (reference.deref() === undefined) this.#values.delete(key);
    this.#sweepAt = Math.max(64, this.#values.size * 2);
  }
}
