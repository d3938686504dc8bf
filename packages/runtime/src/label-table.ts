/** Values by label values, without the checks and hashes that prom-client makes for each observation. */

type Labels = Readonly<Record<string, string | number>>;

export class LabelTable<Value> {
  readonly #names: readonly string[];
  readonly #make: (labels: Labels) => Value;
  readonly #values = new Map<string, Value>();

  constructor(names: readonly string[], make: (labels: Labels) => Value) {
    this.#names = names;
    this.#make = make;
    // Without labels there is one value, and it is reported before it is first used.
    if (names.length === 0) this.of({});
  }

  of(labels: Labels): Value {
    const key = this.#keyOf(labels);
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.#make(labels);
      this.#values.set(key, value);
    }
    return value;
  }

  all(): Iterable<Value> {
    return this.#values.values();
  }

  #keyOf(labels: Labels): string {
    const [first, ...others] = this.#names;
    if (first === undefined) return "";
    // own key: labels of one metric have the declared names
    let key = String(labels[first]);
    // own key: likewise
    for (const name of others) key += `\n${labels[name]}`;
    return key;
  }
}
