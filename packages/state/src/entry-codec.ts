/** Entries at rest: compressed when that pays, each with a tag, and covered together by a sum. */
import { createHash } from "node:crypto";
import { constants, deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";

const forms = { raw: 0, zstd: 1, deflate: 2 } as const;
/** Below this some hundred bytes are saved at most, and a thousand objects that change at once cost a tenth of a second more. */
const worthCompressing = 1_024;
/**
 * From here on zstd is the faster one. Below, setting it up costs more than it saves; measured at
 * 0.8 and 2.4 kB: deflate 15 and 16 µs to pack, 7 and 6 to unpack, zstd 18 and 21, 14 and 15, of equal size.
 */
const worthZstd = 16_384;

/** The entry as it is stored: compressed when that makes it smaller. */
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

/** Of one entry, unpacked: a few bytes may become gigabytes. */
const maxEntryBytes = 64 * 1024 * 1024;

/** @throws when the bytes are not an entry */
export function unpackEntry(packed: Uint8Array): Uint8Array {
  const [form] = packed;
  const body = packed.subarray(1);
  switch (form) {
    case forms.raw:
      return body;
    case forms.zstd:
      return zstdDecompressSync(body, { maxOutputLength: maxEntryBytes });
    case forms.deflate:
      return inflateRawSync(body, { maxOutputLength: maxEntryBytes });
    default:
      throw new RangeError(`an entry of form ${form}`);
  }
}

/** Authenticates with a key that the writers of the store share, or, without a key, only finds damage. */
export type Mac = (purpose: "snapshot entry" | "snapshot", parts: readonly (string | Uint8Array)[]) => Uint8Array;

export const checksumOnly: Mac = (purpose, parts) => {
  const digest = createHash("sha256").update(purpose);
  for (const part of parts) digest.update(`\0${Buffer.byteLength(part)}\0`).update(part);
  return digest.digest();
};

const tagBytes = 16;

/** Of an entry at its key; in hex. */
export function entryTag(mac: Mac, key: string, value: Uint8Array): string {
  return Buffer.from(mac("snapshot entry", [key, value])).toString("hex", 0, tagBytes);
}

/** Tag and content as they rest. */
export function taggedEntry(tag: string, value: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(tag, "hex"), packEntry(value)]);
}

/** The content of an entry. @throws when it has no content, or one of another tag */
export function readEntry(mac: Mac, key: string, stored: Buffer): Uint8Array {
  const value = unpackEntry(stored.subarray(tagBytes));
  if (entryTag(mac, key, value) !== storedTag(stored)) throw new RangeError("its content differs from the written one");
  return value;
}

/** The tag of a stored entry, from which the checksum of the snapshot is made. */
export function storedTag(stored: Buffer): string {
  return stored.toString("hex", 0, tagBytes).padEnd(2 * tagBytes, "0");
}

/** The place in the stream that a snapshot holds for, as it rests; empty where its writer named none. */
export interface SnapshotPlace {
  readonly position: string;
  readonly epoch: string;
  readonly mark: string;
}

/** Covers all entries by the digest of their tags, and the place they hold for. */
export function snapshotSum(mac: Mac, tags: string, { position, epoch, mark }: SnapshotPlace): string {
  return Buffer.from(mac("snapshot", [tags, position, epoch, mark])).toString("hex");
}
