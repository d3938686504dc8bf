/** Numbers objects, so that lists of them can be told apart by a text. */
export class Identities {
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  of(value: object): number {
    let number = this.#numbers.get(value);
    if (number === undefined) {
      number = ++this.#last;
      this.#numbers.set(value, number);
    }
    return number;
  }
}
