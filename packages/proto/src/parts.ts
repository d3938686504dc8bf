/** Messages that are joined from their fields: bytes that are encoded already, and texts. */

/** Bytes of a text in UTF-8. */
export function textSize(text: string): number {
  return Buffer.byteLength(text);
}

function varintSize(value: number): number {
  return value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : value < 268_435_456 ? 4 : 5;
}

/** Fields of one message, in the order given; sizes are known before a byte is copied. */
export class Parts {
  /** Bytes, texts, and numbers that become varints: nothing is encoded before there is a place for it. */
  readonly #parts: (Uint8Array | string | number)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A length-delimited field with all of `bytes`. */
  bytes(field: number, bytes: Uint8Array): this {
    return this.open(field, bytes.length).raw(bytes);
  }

  /** A length-delimited field; `size` is that of the text. */
  text(field: number, text: string, size: number = textSize(text)): this {
    this.open(field, size).#parts.push(text);
    this.#size += size;
    return this;
  }

  /** As `text`, but without the field where the text is empty. */
  textUnlessEmpty(field: number, text: string): this {
    return text === "" ? this : this.text(field, text);
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
    const texts = Buffer.from(target.buffer);
    let at = 0;
    for (const part of this.#parts) {
      if (typeof part === "number") {
        let rest = part;
        for (; rest > 127; rest = Math.floor(rest / 128)) target[at++] = (rest & 127) | 128;
        target[at++] = rest;
      } else if (typeof part === "string") at += texts.write(part, at);
      else {
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
