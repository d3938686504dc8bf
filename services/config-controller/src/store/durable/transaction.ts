/** The changes written to the durable store at once, and the form in which they and each object are stored in the bus's shared values. */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { BusError, type Seal } from "@flotilla/bus";
import {
  type Config,
  type ConfigKey,
  configKeyShape,
  configKeyText,
  configShape,
  decodeShape,
  integer,
  listOf,
  number,
  objectOf,
  type Shape,
  StoreError,
  text,
} from "@flotilla/model";

export interface Transaction {
  /** Counts the transactions of the store; the resourceVersion of what it writes. */
  readonly version: number;
  /** Identifies the transaction that was stored, should the answer be lost. */
  readonly id: string;
  /** Id of the transaction that this one replaced at the head; a replica with another predecessor has another history (decision 0370). */
  readonly after?: string;
  readonly timeMs: number;
  /** Account that asked for it, as `namespace/name`. */
  readonly caller?: string;
  readonly puts: readonly Config[];
  readonly deletes: readonly ConfigKey[];
  /** Put too, but sealed with a key that is not ours: handed on, not looked at. */
  readonly closed: readonly Sealed[];
}

/** The changes that a transaction is made of. */
export interface Edit {
  readonly puts: readonly Config[];
  readonly deletes: readonly ConfigKey[];
}

/** One object as it rests; with neither, it was deleted by that version. */
export interface StoredObject {
  readonly version: number;
  readonly key: ConfigKey;
  readonly config?: Config;
  readonly closed?: Sealed;
}

/** The objects of a transaction in stored form. */
export function objectsOf({ version, puts, deletes, closed }: Transaction): readonly StoredObject[] {
  return [
    ...puts.map((config) => ({ version, key: config.key, config })),
    ...deletes.map((key) => ({ version, key })),
    ...closed.map((one) => ({ version, key: one.key, closed: one })),
  ];
}

/** A Secret: its content opens with the seal key, at its own key only. */
export interface Sealed {
  readonly key: ConfigKey;
  /** In base64. */
  readonly sealed: string;
}

type Resting = Config | Sealed;

const sealedShape = objectOf({ key: configKeyShape, sealed: text });
const restingShape: Shape = (value) =>
  typeof value === "object" && value !== null && "sealed" in value ? sealedShape(value) : configShape(value);
const transactionShape = objectOf(
  { version: integer, id: text, timeMs: number, puts: listOf(restingShape), deletes: listOf(configKeyShape) },
  { caller: text, after: text },
);
const objectShape = objectOf({ version: integer, key: configKeyShape }, { value: restingShape });
/** Of one value, unpacked: one transaction fits into a message packed. */
const maxPlainBytes = 256 * 1024 * 1024;

/** @throws StoreError STORE_INVALID when there is a Secret and no seal */
export function encodeTransaction({ puts, closed, ...rest }: Transaction, seal: Seal | undefined): Uint8Array {
  return pack({ ...rest, puts: [...puts.map((config) => rests(config, seal)), ...closed] });
}

/** @throws Error when the bytes are no transaction */
export function decodeTransaction(bytes: Uint8Array, seal: Seal | undefined): Transaction {
  const { puts, ...rest } = unpack<Omit<Transaction, "puts" | "closed"> & { readonly puts: readonly Resting[] }>(
    bytes,
    transactionShape,
  );
  const opened = puts.map((one) => open(one, seal));
  const closed = opened.filter(isSealed);
  return { ...rest, puts: opened.filter((one) => !isSealed(one)) as readonly Config[], closed };
}

/** @throws StoreError STORE_INVALID when it is a Secret and there is no seal */
export function encodeObject({ version, key, config, closed }: StoredObject, seal: Seal | undefined): Uint8Array {
  const value = closed ?? (config && rests(config, seal));
  return pack({ version, key, ...(value && { value }) });
}

/** @throws Error when the bytes are no object */
export function decodeObject(bytes: Uint8Array, seal: Seal | undefined): StoredObject {
  const { version, key, value } = unpack<Pick<StoredObject, "version" | "key"> & { readonly value?: Resting }>(
    bytes,
    objectShape,
  );
  if (value === undefined) return { version, key };
  const opened = open(value, seal);
  return isSealed(opened) ? { version, key, closed: opened } : { version, key, config: opened };
}

function rests(config: Config, seal: Seal | undefined): Resting {
  const { key } = config;
  if (key.kind !== "Secret") return config;
  if (seal === undefined) throw new StoreError("STORE_INVALID", undefined, "Secrets are not stored without a seal key");
  const sealed = seal.seal(Buffer.from(JSON.stringify(config)), configKeyText(key));
  return { key, sealed: Buffer.from(sealed).toString("base64") };
}

function open(value: Resting, seal: Seal | undefined): Resting {
  if (!isSealed(value) || seal === undefined) return value;
  try {
    const plain = seal.open(Buffer.from(value.sealed, "base64"), configKeyText(value.key));
    return decodeShape<Config>(plain, configShape);
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    return value;
  }
}

function isSealed(value: Resting): value is Sealed {
  return "sealed" in value;
}

function pack(value: unknown): Uint8Array {
  return zstdCompressSync(JSON.stringify(value), { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}

function unpack<T>(bytes: Uint8Array, shape: Shape): T {
  return decodeShape(zstdDecompressSync(bytes, { maxOutputLength: maxPlainBytes }), shape);
}
