/** A growing buffer with the primitives of the protobuf wire format. Lengths are written back in place. */
const encoder = new TextEncoder();

export class WireWriter {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #end = 0;

  /** A copy of what was written since the last call. */
  finish(): Uint8Array {
    const result = this.#bytes.slice(0, this.#end);
    this.#end = 0;
    return result;
  }

  uint32(value: number): void {
    this.#reserve(5);
    let rest = value >>> 0;
    while (rest > 127) {
      this.#bytes[this.#end++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#end++] = rest;
  }

  /** Negative numbers take ten bytes, as int32 and enums have it. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.int64(BigInt(value));
  }

  int64(value: bigint): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, value);
    while (rest > 127n) {
      this.#bytes[this.#end++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    this.#bytes[this.#end++] = Number(rest);
  }

  fixed32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#end, value >>> 0, true);
    this.#end += 4;
  }

  fixed64(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#end, BigInt.asUintN(64, value), true);
    this.#end += 8;
  }

  float(value: number): void {
    this.#reserve(4);
    this.#view.setFloat32(this.#end, value, true);
    this.#end += 4;
  }

  double(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#end, value, true);
    this.#end += 8;
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.raw(value);
  }

  string(value: string): void {
    // UTF-8 takes at most three bytes a UTF-16 unit.
    this.#reserve(value.length * 3 + 5);
    const start = this.#begin();
    this.#end += encoder.encodeInto(value, this.#bytes.subarray(this.#end)).written;
    this.#close(start);
  }

  /** Writes what `write` writes, preceded by its length. */
  delimited<T>(write: (writer: WireWriter, value: T) => void, value: T): void {
    this.#reserve(1);
    const start = this.#begin();
    write(this, value);
    this.#close(start);
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** One byte is kept for the length, which is enough for most messages. */
  #begin(): number {
    this.#end++;
    return this.#end;
  }

  #close(start: number): void {
    const length = this.#end - start;
    if (length > 127) {
      const extra = length < 1 << 14 ? 1 : length < 1 << 21 ? 2 : length < 1 << 28 ? 3 : 4;
      this.#reserve(extra);
      this.#bytes.copyWithin(start + extra, start, this.#end);
      const end = this.#end + extra;
      this.#end = start - 1;
      this.uint32(length);
      this.#end = end;
    } else {
      this.#bytes[start - 1] = length;
    }
  }

  #reserve(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}
