/** A change as a message: its cause in the headers, its content packed, and sealed when it is secret. */
import { hash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Cause, Change } from "@flotilla/model";
import type { OutgoingMessage, StoredMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import type { Seal } from "./seal.ts";
import { decodeChange, encodeChange, subjectOf } from "./topics.ts";

/** Changes that were written together have one id and know how many they are. */
export interface GroupMark {
  readonly id: string;
  readonly size: number;
  /** How many of them travel on subjects of the same topic as this one. */
  readonly sizeInTopic: number;
}

const names = {
  publisher: "Flotilla-Publisher",
  epoch: "Flotilla-Epoch",
  revision: "Flotilla-Revision",
  source: "Flotilla-Source",
  caller: "Flotilla-Caller",
  eventTime: "Flotilla-Event-Time",
  urgent: "Flotilla-Urgent",
  group: "Flotilla-Group",
  groupSize: "Flotilla-Group-Size",
  groupSizeInTopic: "Flotilla-Group-Size-In-Topic",
  fingerprint: "Flotilla-Fingerprint",
  operation: "Flotilla-Op",
  sealed: "Flotilla-Sealed",
  packed: "Flotilla-Packed",
} as const;

/** Below this, packing costs more than it saves. */
const worthPackingBytes = 4_096;

/** A change encoded once, for comparing it and for sending it. */
export interface Prepared {
  readonly change: Change;
  readonly subject: string;
  readonly plain: Uint8Array;
  /** Equal changes have equal fingerprints, whoever computes them. */
  readonly fingerprint: string;
}

export function prepare(change: Change, seal: Seal | undefined): Prepared {
  const plain = encodeChange(change);
  const isKeyed = isSecret(change) && seal !== undefined;
  const compared = comparedOf(change, plain);
  const fingerprint = isKeyed ? seal.fingerprint(compared) : hash("sha256", compared).slice(0, 32);
  return { change, subject: subjectOf(change), plain, fingerprint };
}

/** Where an object stands, and the version its source gives it, may change without the object changing. */
function comparedOf(change: Change, plain: Uint8Array): Uint8Array {
  if (change.type !== "config" || change.op !== "put") return plain;
  const { provenance, resourceVersion, ...value } = change.value;
  if (provenance === undefined && resourceVersion === undefined) return plain;
  return encodeChange({ ...change, value });
}

/** The content as it travels. @throws BusError BUS_SEALED when a Secret is to travel and there is no key */
export function pack({ change, subject, plain }: Prepared, seal: Seal | undefined): Omit<OutgoingMessage, "subject"> {
  const isPacked = plain.length >= worthPackingBytes;
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
  const payload = isPacked ? zstdCompressSync(plain, level) : plain;
  const headers = isPacked ? { [names.packed]: "zstd" } : {};
  if (!isSecret(change)) return { payload, headers };
  if (seal === undefined) throw new BusError("BUS_SEALED", "Secrets cannot be published without a seal key");
  return { payload: seal.seal(payload, subject), headers: { ...headers, [names.sealed]: "1" } };
}

export function marks(
  { change, fingerprint }: { readonly change: Pick<Change, "op">; readonly fingerprint: string },
  cause: Cause,
  group: GroupMark,
): Readonly<Record<string, string>> {
  return {
    [names.publisher]: cause.publisher,
    [names.epoch]: cause.epoch,
    [names.revision]: String(cause.revision),
    [names.eventTime]: String(cause.eventTimeMs),
    // Headers are ASCII; the path of a directory may be anything.
    ...(cause.source !== undefined && { [names.source]: encodeURI(cause.source) }),
    ...(cause.caller !== undefined && { [names.caller]: encodeURI(cause.caller) }),
    [names.group]: group.id,
    [names.groupSize]: String(group.size),
    [names.groupSizeInTopic]: String(group.sizeInTopic),
    [names.fingerprint]: fingerprint,
    ...(change.op === "delete" && { [names.operation]: "delete" }),
    ...(cause.urgent === true && { [names.urgent]: "1" }),
  };
}

export interface Envelope {
  readonly change: Change;
  readonly cause: Cause;
  readonly group: GroupMark;
}

/** @throws BusError BUS_BAD_EVENT, BUS_SEALED */
export function contentOf(message: StoredMessage, seal: Seal | undefined): Change {
  const { payload, headers, subject } = message;
  if (isSealed(message) && seal === undefined) throw new BusError("BUS_SEALED", "a sealed payload needs the seal key");
  const opened = isSealed(message) && seal !== undefined ? seal.open(payload, subject) : payload;
  return decodeChange(headers[names.packed] === "zstd" ? unpack(opened) : opened);
}

/** Whose a change is and with which others it was written: told even where the content cannot be read. */
export function marksOf({ headers, sequence }: StoredMessage): Omit<Envelope, "change"> {
  const cause: Cause = {
    publisher: headers[names.publisher] ?? "",
    epoch: headers[names.epoch] ?? "",
    revision: Number(headers[names.revision] ?? 0),
    eventTimeMs: Number(headers[names.eventTime] ?? 0),
    ...(headers[names.source] !== undefined && { source: decoded(headers[names.source] ?? "") }),
    ...(headers[names.caller] !== undefined && { caller: decoded(headers[names.caller] ?? "") }),
    ...(headers[names.urgent] === "1" && { urgent: true }),
  };
  const size = Number(headers[names.groupSize] ?? 1);
  const sizeInTopic = Number(headers[names.groupSizeInTopic] ?? size);
  return { cause, group: { id: headers[names.group] ?? `single-${sequence}`, size, sizeInTopic } };
}

export function isSealed({ headers }: StoredMessage): boolean {
  return headers[names.sealed] === "1";
}

export function isDelete({ headers }: StoredMessage): boolean {
  return headers[names.operation] === "delete";
}

export function publisherOf({ headers }: StoredMessage): string {
  return headers[names.publisher] ?? "";
}

export function storedFingerprint({ headers }: StoredMessage): string {
  return headers[names.fingerprint] ?? "";
}

function decoded(text: string): string {
  try {
    return decodeURI(text);
  } catch {
    // Not written by us: shown as it is.
    return text;
  }
}

function unpack(packed: Uint8Array): Uint8Array {
  try {
    return zstdDecompressSync(packed);
  } catch (cause) {
    throw new BusError("BUS_BAD_EVENT", "a packed payload cannot be unpacked", { cause });
  }
}

function isSecret({ type, key }: Change): boolean {
  return type === "config" && "kind" in key && key.kind === "Secret";
}
