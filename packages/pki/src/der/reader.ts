/**
 * Strict DER: definite and minimal lengths, one-byte tags, nothing beyond the end of what encloses a value. The bytes come
 * from unauthenticated clients, so every length is checked before it is used, and depth is that of the caller's code, not of the input.
 */
import { PkiError } from "../errors.ts";

/** One element: its tag and contents. */
export interface DerValue {
  readonly tag: number;
  /** Tag, length and contents as they stood in the input. */
  readonly raw: Buffer;
  readonly body: Buffer;
}

/** Reads the elements of one value in order. @throws PkiError PKI_BAD_DER for anything that is not strict DER */
export class DerReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #at = 0;

  /** `what` names the structure in errors. */
  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#what = what;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The tag of the next value; undefined at the end. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  /** @throws PkiError PKI_BAD_DER if there is no value, or one of another tag. */
  next(tag?: number): DerValue {
    const start = this.#at;
    const found = this.#byte();
    if ((found & 0x1f) === 0x1f) this.#fail("has a tag of several bytes");
    if (tag !== undefined && found !== tag)
      this.#fail(`has tag 0x${found.toString(16)} where 0x${tag.toString(16)} belongs`);
    const length = this.#length();
    const from = this.#at;
    if (length > this.#bytes.length - from) this.#fail("is cut off");
    this.#at = from + length;
    return { tag: found, raw: this.#bytes.subarray(start, this.#at), body: this.#bytes.subarray(from, this.#at) };
  }

  optional(tag: number): DerValue | undefined {
    return this.peek() === tag ? this.next() : undefined;
  }

  /** A reader of the contents of the next value. */
  enter(tag: number, what: string = this.#what): DerReader {
    return new DerReader(this.next(tag).body, what);
  }

  /** @throws PkiError PKI_BAD_DER if bytes are left. */
  end(): void {
    if (!this.isAtEnd) this.#fail(`has ${this.#bytes.length - this.#at} bytes too many`);
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0) this.#fail("has an indefinite length");
    if (count > 4) this.#fail("has a length of more than four bytes");
    let length = 0;
    for (let i = 0; i < count; i++) length = length * 256 + this.#byte();
    if (length < 0x80 || length < 256 ** (count - 1)) this.#fail("has a length that is not minimal");
    return length;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) this.#fail("is cut off");
    this.#at++;
    return byte;
  }

  #fail(why: string): never {
    throw new PkiError("PKI_BAD_DER", `${this.#what} ${why} at byte ${this.#at}`);
  }
}

/** The one value that the bytes are. @throws PkiError PKI_BAD_DER */
export function readWhole(bytes: Buffer, tag: number, what: string): DerReader {
  const outer = new DerReader(bytes, what);
  const inner = outer.enter(tag);
  outer.end();
  return inner;
}
