/**
 * A growing buffer that is filled from its end: when the length of a message is written, in front of it,
 * the message is there and its length is known. Nothing is measured beforehand or moved afterwards.
 */
import type { JsonValue } from "@bufbuild/protobuf";

/** Below this, a loop over the characters is faster than a call of the runtime's own encoder. */
const shortText = 48;

export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #start = this.#bytes.length;

  /** A copy of what was written since the last call. */
  finish(): Uint8Array {
    const result = new Uint8Array(this.#bytes.subarray(this.#start));
    this.#start = this.#bytes.length;
    return result;
  }

  /** Count of bytes written so far, to be given to `length`. */
  mark(): number {
    return this.#bytes.length - this.#start;
  }

  /** The length of what was written since `mark`. */
  length(mark: number): void {
    this.uint32(this.#bytes.length - this.#start - mark);
  }

  /** @throws RangeError for what is no number of 32 bits: the length of its bytes would not be the one that is reserved. */
  uint32(value: number): void {
    if (value >= 0 && value < 128) {
      if (this.#start === 0) this.#grow(1);
      this.#bytes[--this.#start] = value;
      return;
    }
    let rest = value >>> 0;
    if (rest !== value) throw new RangeError(`${value} is no whole number of 32 bits`);
    const size = rest < 1 << 14 ? 2 : rest < 1 << 21 ? 3 : rest < 1 << 28 ? 4 : 5;
    this.#reserve(size);
    let at = this.#start;
    while (rest > 127) {
      this.#bytes[at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[at] = rest;
  }

  /** Negative numbers take ten bytes, as int32 and enums have it. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.int64(BigInt(value));
  }

  sint32(value: number): void {
    this.uint32(((value << 1) ^ (value >> 31)) >>> 0);
  }

  int64(value: bigint): void {
    if (value >= 0n && value < 0x8000_0000n) {
      this.uint32(Number(value));
      return;
    }
    let rest = BigInt.asUintN(64, value);
    let size = 1;
    for (let more = rest >> 7n; more > 0n; more >>= 7n) size++;
    this.#reserve(size);
    let at = this.#start;
    for (; rest > 127n; rest >>= 7n) this.#bytes[at++] = Number(rest & 127n) | 128;
    this.#bytes[at] = Number(rest);
  }

  sint64(value: bigint): void {
    this.int64((value << 1n) ^ (value >> 63n));
  }

  bool(value: boolean): void {
    this.uint32(value ? 1 : 0);
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#start, value >>> 0, true);
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#start, BigInt.asUintN(64, value), true);
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#start, value, true);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#start, value, true);
  }

  /** @throws TypeError, as does `string`: a value without a length would corrupt the rest of the buffer. */
  bytes(value: Uint8Array): void {
    if (!(value instanceof Uint8Array)) throw new TypeError(`expected bytes, got ${typeof value}`);
    this.raw(value);
    this.uint32(value.length);
  }

  string(value: string): void {
    if (typeof value !== "string") throw new TypeError(`expected a string, got ${typeof value}`);
    const length = value.length;
    if (length > shortText || !this.#ascii(value, length)) {
      const size = Buffer.byteLength(value);
      this.#reserve(size);
      this.#bytes.write(value, this.#start, size);
      this.uint32(size);
    } else {
      this.uint32(length);
    }
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#start);
  }

  /** google.protobuf.Struct in its plain form; keys in order. */
  struct(value: Readonly<Record<string, JsonValue>>): void {
    const keys = Object.keys(value).sort();
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i] as string;
      const entry = this.mark();
      const content = this.mark();
      // own key: of the struct
      this.#json(value[key] ?? null);
      this.length(content);
      this.uint32((2 << 3) | 2);
      this.string(key);
      this.uint32((1 << 3) | 2);
      this.length(entry);
      this.uint32((1 << 3) | 2);
    }
  }

  /** google.protobuf.Value: null 1, number 2, string 3, bool 4, struct 5, list 6. */
  #json(value: JsonValue): void {
    if (typeof value === "string") {
      this.string(value);
      this.uint32((3 << 3) | 2);
    } else if (typeof value === "number") {
      this.double(value);
      this.uint32((2 << 3) | 1);
    } else if (typeof value === "boolean") {
      this.bool(value);
      this.uint32(4 << 3);
    } else if (value === null) {
      this.uint32(0);
      this.uint32(1 << 3);
    } else {
      const mark = this.mark();
      if (Array.isArray(value)) this.#list(value);
      else this.struct(value);
      this.length(mark);
      this.uint32(((Array.isArray(value) ? 6 : 5) << 3) | 2);
    }
  }

  #list(values: readonly JsonValue[]): void {
    for (let i = values.length - 1; i >= 0; i--) {
      const mark = this.mark();
      this.#json(values[i] as JsonValue);
      this.length(mark);
      this.uint32((1 << 3) | 2);
    }
  }

  /** Writes `value` if all of it is ASCII; returns true where it is. */
  #ascii(value: string, length: number): boolean {
    if (this.#start < length) this.#grow(length);
    const bytes = this.#bytes;
    const start = this.#start - length;
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return false;
      bytes[start + i] = code;
    }
    this.#start = start;
    return true;
  }

  #reserve(count: number): void {
    if (this.#start < count) this.#grow(count);
    this.#start -= count;
  }

  #grow(count: number): void {
    const used = this.mark();
    const larger = Buffer.allocUnsafeSlow(Math.max(used + count, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(this.#start), larger.length - used);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
    this.#start = larger.length - used;
  }
}
