/** One generation of the configuration as the ledger keeps it: enough to roll it back, and to name its cause. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  type Cause,
  type Config,
  type ConfigKey,
  causeShape,
  configKeyShape,
  configKeyText,
  configShape,
  decodeShape,
  integer,
  listOf,
  objectOf,
  oneOfTexts,
  type Shape,
  text,
} from "@flotilla/model";
import type { Generation, GenerationChange } from "../follow/published-config.ts";

export interface LedgerRecord {
  /** Counts the records of the ledger, from 1. */
  readonly number: number;
  /** The sequence that positions are of. */
  readonly epoch: string;
  /** The generation: place in the fleet's sequence of changes. */
  readonly position: number;
  /** A large generation is kept in several records; from 0. */
  readonly part: number;
  readonly parts: number;
  readonly cause: Cause;
  readonly changes: readonly LedgerChange[];
}

/** How an object is afterwards stands in the next record that has it, or in the present state. */
export interface LedgerChange {
  readonly key: ConfigKey;
  readonly op: "created" | "changed" | "deleted";
  readonly before: LedgerContent;
}

/** `null`: there was no object. A reason: it cannot be read back, such as a Secret. */
export type LedgerContent = Config | null | { readonly withheld: string };

/** Of the JSON; a part has more only when a single change has. */
const partBytes = 256 * 1024;
/** The names of the objects of all records are held in memory. */
const partChanges = 500;

const worthPackingBytes = 4_096;
/** A single change may have as much as the bus carries. */
const maxPlainBytes = 64 * 1024 * 1024;
/** JSON of a record begins with it, and compressed bytes never do. */
const openingBrace = 0x7b;

/** The records that a generation is kept in, but for their numbers. */
export function recordsOf(
  { position, cause, changes }: Generation,
  epoch: string,
  maxBytes: number,
): readonly Omit<LedgerRecord, "number">[] {
  const parts: LedgerChange[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const change of changes) {
    const { kept, size } = keep(change, maxBytes);
    if (bytes + size > partBytes || parts.at(-1)?.length === partChanges) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(kept);
    bytes += size;
  }
  return parts.map((part, at) => ({ epoch, position, part: at, parts: parts.length, cause, changes: part }));
}

/** Small ones as they are: to compress one takes ten times as long as to write it, and a megabyte of memory for a moment. */
export function encodeRecord(record: LedgerRecord): Uint8Array {
  const plain = Buffer.from(JSON.stringify(record));
  if (plain.length < worthPackingBytes) return plain;
  return zstdCompressSync(plain, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}

const withheld = objectOf({ withheld: text });
const before: Shape = (value) => (value === null || withheld(value) === undefined ? undefined : configShape(value));
const recordShape = objectOf({
  number: integer,
  epoch: text,
  position: integer,
  part: integer,
  parts: integer,
  cause: causeShape,
  changes: listOf(objectOf({ key: configKeyShape, op: oneOfTexts("created", "changed", "deleted"), before })),
});

/** @throws Error with the reason */
export function decodeRecord(value: Uint8Array): LedgerRecord {
  const plain = value[0] === openingBrace ? value : zstdDecompressSync(value, { maxOutputLength: maxPlainBytes });
  return decodeShape(plain, recordShape);
}

export function isWithheld(content: LedgerContent): content is { readonly withheld: string } {
  return content !== null && "withheld" in content;
}

function keep(change: GenerationChange, maxBytes: number): { kept: LedgerChange; size: number } {
  const { key, before, after } = change;
  const op = before === undefined ? "created" : after === undefined ? "deleted" : "changed";
  const { content, size } = contentOf(change, maxBytes);
  return { kept: { key, op, before: content }, size: size + 200 };
}

/** The size is that of its JSON. */
function contentOf({ key, before, beforeLength: size }: GenerationChange, maxBytes: number) {
  if (before === undefined) return { content: null, size: 0 };
  if (key.kind === "Secret") return { content: secretContent, size: 0 };
  if (size <= maxBytes) return { content: before, size };
  return { content: { withheld: `${configKeyText(key)} had ${size} bytes, too many to be kept` }, size: 0 };
}

/** The placeholder shown for a Secret. */
export const secretContent: LedgerContent = { withheld: "Secrets are not kept" };
