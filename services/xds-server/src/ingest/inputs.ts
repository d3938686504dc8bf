/** The mesh's inputs by key, as they came: what a snapshot holds, and what a lost stream is compared with. */
import { keyText } from "@flotilla/bus";
import type { Change } from "@flotilla/model";

export class Inputs {
  readonly #byKey = new Map<string, Change>();
  /** Keys told again since the stream was lost; undefined while it is whole. */
  #toldAgain: Set<string> | undefined;

  get size(): number {
    return this.#byKey.size;
  }

  entries(): Iterable<readonly [string, Change]> {
    return this.#byKey;
  }

  /** Puts only; deleted keys leave nothing. */
  record(changes: readonly Change[]): void {
    for (const change of changes) {
      const key = keyText(change);
      this.#toldAgain?.add(key);
      if (change.op === "put") this.#byKey.set(key, change);
      else this.#byKey.delete(key);
    }
  }

  /** The stream was lost: what is known stays in force until everything has been told again. */
  beginAgain(): void {
    this.#toldAgain = new Set();
  }

  /** After everything was told again: deletes for what was not. */
  endAgain(): readonly Change[] {
    const told = this.#toldAgain;
    this.#toldAgain = undefined;
    if (told === undefined) return [];
    return [...this.#byKey]
      .filter(([key]) => !told.has(key))
      .map(([, { type, key }]) => ({ type, op: "delete", key }) as Change);
  }
}
