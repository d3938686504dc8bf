/** What is written to the durable store at once, and how that and each object rest in the bus's shared values. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Seal } from "@flotilla/bus";
import type { Config, ConfigKey } from "@flotilla/model";

export interface Transaction {
  /** Counts the transactions of the store; the resourceVersion of what it writes. */
  readonly version: number;
  /** Tells whether it was ours that was stored, should the answer be lost. */
  readonly id: string;
  readonly timeMs: number;
  readonly puts: readonly Config[];
  readonly deletes: readonly ConfigKey[];
}

/** One object as it rests; absent: deleted by that version. */
export interface StoredObject {
  readonly version: number;
  readonly key: ConfigKey;
  readonly config?: Config;
}

/** First byte of a value: whether the rest is sealed. */
const [open, sealed] = [0, 1];

/** `place`: the key that the value rests under. @throws RangeError when it is secret and there is no seal */
export function encodeValue(value: Transaction | StoredObject, place: string, seal: Seal | undefined): Uint8Array {
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
  const packed = zstdCompressSync(JSON.stringify(value), level);
  if (!isSecret(value)) return Buffer.concat([Buffer.of(open), packed]);
  if (seal === undefined) throw new RangeError("Secrets are not stored without a seal key");
  return Buffer.concat([Buffer.of(sealed), seal.seal(packed, place)]);
}

/** @throws BusError BUS_SEALED; RangeError, SyntaxError or Error when the bytes are no value */
export function decodeValue<T extends Transaction | StoredObject>(
  bytes: Uint8Array,
  place: string,
  seal: Seal | undefined,
): T {
  const rest = bytes.subarray(1);
  if (bytes[0] === sealed && seal === undefined) throw new RangeError(`${place} is sealed and there is no seal key`);
  const packed = bytes[0] === sealed && seal !== undefined ? seal.open(rest, place) : rest;
  return JSON.parse(zstdDecompressSync(packed).toString()) as T;
}

function isSecret(value: Transaction | StoredObject): boolean {
  const keys = "puts" in value ? value.puts.map(({ key }) => key) : [value.key];
  return keys.some(({ kind }) => kind === "Secret");
}
