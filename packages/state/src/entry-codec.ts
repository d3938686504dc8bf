/** Entries at rest: compressed when that pays, and covered by a checksum that a change can carry forward. */
import { hash } from "node:crypto";
import { constants, deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";

const forms = { raw: 0, zstd: 1, deflate: 2 } as const;
/** Below this some hundred bytes are saved at most, and a thousand objects that change at once cost a tenth of a second more. */
const worthCompressing = 1_024;
/**
 * From here on zstd is the faster one. Below, setting it up costs more than it saves; measured at
 * 0.8 and 2.4 kB: deflate 15 and 16 µs to pack, 7 and 6 to unpack, zstd 18 and 21, 14 and 15, of equal size.
 */
const worthZstd = 16_384;

export function packEntry(value: Uint8Array): Buffer {
  if (value.length < worthCompressing) return Buffer.concat([Buffer.of(forms.raw), value]);
  if (value.length < worthZstd) return Buffer.concat([Buffer.of(forms.deflate), deflate(value)]);
  const packed = zstdCompressSync(value, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  return Buffer.concat([Buffer.of(forms.zstd), packed]);
}

/** With a window no larger than the value: by default each call takes a quarter of a megabyte that is garbage at once. */
function deflate(value: Uint8Array): Buffer {
  const windowBits = Math.min(15, Math.ceil(Math.log2(value.length)));
  return deflateRawSync(value, { level: 1, memLevel: 4, windowBits });
}

/** @throws when the bytes are not an entry */
export function unpackEntry(packed: Buffer): Uint8Array {
  const [form] = packed;
  const body = packed.subarray(1);
  switch (form) {
    case forms.raw:
      return body;
    case forms.zstd:
      return zstdDecompressSync(body);
    case forms.deflate:
      return inflateRawSync(body);
    default:
      throw new RangeError(`an entry of form ${form}`);
  }
}

export function entryHash(key: string, value: Uint8Array): string {
  return hash("sha256", Buffer.concat([Buffer.from(`${key}\0`), value])).slice(0, 32);
}

/** Independent of order: replacing an entry is taking its old hash out and putting the new one in. */
export function combine(checksum: string, ...hashes: readonly string[]): string {
  let value = BigInt(`0x${checksum}`);
  for (const one of hashes) value ^= BigInt(`0x${one}`);
  return value.toString(16).padStart(32, "0");
}

export const emptyChecksum = "0".repeat(32);
