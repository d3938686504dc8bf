/** Messages that are joined from fields which are encoded already. */

const encoder = new TextEncoder();

/** In UTF-8. */
export function textBytes(text: string): Uint8Array {
  return encoder.encode(text);
}

function varintSize(value: number): number {
  return value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : value < 268_435_456 ? 4 : 5;
}

/** Fields of one message, in the order given; sizes are known before a byte is copied. */
export class Parts {
  readonly #parts: (Uint8Array | number)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A length-delimited field with all of `bytes`. */
  bytes(field: number, bytes: Uint8Array): this {
    return this.open(field, bytes.length).raw(bytes);
  }

  text(field: number, text: string): this {
    return text === "" ? this : this.bytes(field, textBytes(text));
  }

  /** The head of a length-delimited field; `length` bytes must follow. */
  open(field: number, length: number): this {
    this.#parts.push(field * 8 + 2, length);
    this.#size += varintSize(field * 8 + 2) + varintSize(length);
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#parts.push(bytes);
    this.#size += bytes.length;
    return this;
  }

  finish(): Uint8Array {
    const target = new Uint8Array(this.#size);
    let at = 0;
    for (const part of this.#parts) {
      if (typeof part === "number") {
        let rest = part;
        for (; rest > 127; rest = Math.floor(rest / 128)) target[at++] = (rest & 127) | 128;
        target[at++] = rest;
      } else {
        target.set(part, at);
        at += part.length;
      }
    }
    return target;
  }
}

/** The size of a length-delimited field, its head included. */
export function fieldSize(field: number, length: number): number {
  return varintSize(field * 8 + 2) + varintSize(length) + length;
}
