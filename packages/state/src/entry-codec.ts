/** Entries at rest: compressed when that pays, and covered by a checksum that a change can carry forward. */
import { hash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

const raw = 0;
const zstd = 1;
/** Below this a compressed entry is rarely smaller. */
const worthCompressing = 512;

export function packEntry(value: Uint8Array): Buffer {
  if (value.length < worthCompressing) return Buffer.concat([Buffer.of(raw), value]);
  const packed = zstdCompressSync(value, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  return Buffer.concat([Buffer.of(zstd), packed]);
}

/** @throws when the bytes are not an entry */
export function unpackEntry(packed: Buffer): Uint8Array {
  const [form] = packed;
  const body = packed.subarray(1);
  if (form === raw) return body;
  if (form === zstd) return zstdDecompressSync(body);
  throw new RangeError(`an entry of form ${form}`);
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
