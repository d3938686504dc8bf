/** A change as a message: its cause in the headers, its content packed, and sealed when it is secret. */
import { hash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Cause, Change } from "@flotilla/model";
import type { TimeSlice } from "@flotilla/runtime";
import type { OutgoingMessage, StoredMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import type { Seal } from "./seal.ts";
import { decodeChange, encodeChange, keyText, subjectOf } from "./topics.ts";

/** Changes that were written together carry one id and their number. */
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
/** Of one change, unpacked: 65 kB of zstd may become gigabytes. More than this is not published, and not unpacked. */
export const maxPlainBytes = 64 * 1024 * 1024;
/** More than a publisher writes together. */
const maxGroupSize = 10_000_000;
/** The last moment that a Date can hold. */
const maxTimeMs = 8.64e15;

/** A change encoded once, for comparing it and for sending it. */
export interface Prepared {
  readonly change: Change;
  readonly subject: string;
  readonly plain: Uint8Array;
  /** Equal changes have equal fingerprints in every service. */
  readonly fingerprint: string;
}

/**
 * Packs a change: compressed when that pays, sealed when it is a Secret, with the fingerprint that is equal for equal values.
 * @throws BusError BUS_SEALED for a Secret without a seal
 */
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

/** The headers of a message: cause, group and fingerprint of a change. */
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

/** A message that was read: the change, its cause and its group. */
export interface Envelope {
  readonly change: Change;
  readonly cause: Cause;
  readonly group: GroupMark;
}

/** @throws BusError BUS_BAD_EVENT, BUS_SEALED, BUS_FORGED */
export function contentOf(message: StoredMessage, seal: Seal | undefined): Change {
  expectAuthentic(message);
  const { payload, headers, subject } = message;
  if (isSealed(message) && seal === undefined) throw new BusError("BUS_SEALED", "a sealed payload needs the seal key");
  const opened = isSealed(message) && seal !== undefined ? seal.open(payload, subject) : payload;
  const change = decodeChange(headers[names.packed] === "zstd" ? unpack(opened) : opened);
  if (subjectOf(change) !== subject)
    throw new BusError(
      "BUS_BAD_EVENT",
      `it is a change of ${keyText(change).slice(0, 200)}, which has another subject`,
    );
  return change;
}

/** The state of a message in a comparison; the message's own headers about it are not trusted. */
export type MessageState =
  | { readonly kind: "put"; readonly fingerprint: string }
  | { readonly kind: "delete" }
  /** It is as if there were nothing. */
  | { readonly kind: "unreadable"; readonly error: unknown };

/**
 * Of the bytes received. Only where a sealed one cannot be opened here, its header has to do. Yields before a message and within it: to read
 * one of megabytes and to compute its fingerprint takes tens of milliseconds each.
 */
export async function stateOf(
  message: StoredMessage,
  seal: Seal | undefined,
  timeSlice: TimeSlice,
): Promise<MessageState> {
  if (timeSlice.isDue) await timeSlice.yield();
  try {
    expectAuthentic(message);
    if (isSealed(message) && seal === undefined) return { kind: "put", fingerprint: storedFingerprint(message) };
    const change = contentOf(message, seal);
    if (change.op === "delete") return { kind: "delete" };
    if (timeSlice.isDue) await timeSlice.yield();
    return { kind: "put", fingerprint: prepare(change, seal).fingerprint };
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    return { kind: "unreadable", error };
  }
}

/**
 * Whose a change is and with which others it was written: sent even where the content cannot be read.
 * @throws BusError BUS_BAD_EVENT, BUS_FORGED
 */
export function marksOf(message: StoredMessage): Omit<Envelope, "change"> {
  expectAuthentic(message);
  const { headers, sequence } = message;
  const cause: Cause = {
    publisher: headers[names.publisher] ?? "",
    epoch: headers[names.epoch] ?? "",
    revision: natural(headers, names.revision, 0, Number.MAX_SAFE_INTEGER),
    eventTimeMs: natural(headers, names.eventTime, 0, maxTimeMs),
    ...(headers[names.source] !== undefined && { source: decoded(headers[names.source] ?? "") }),
    ...(headers[names.caller] !== undefined && { caller: decoded(headers[names.caller] ?? "") }),
    ...(headers[names.urgent] === "1" && { urgent: true }),
  };
  const size = natural(headers, names.groupSize, 1, maxGroupSize);
  const sizeInTopic = natural(headers, names.groupSizeInTopic, size, size);
  return { cause, group: { id: headers[names.group] ?? `single-${sequence}`, size, sizeInTopic } };
}

/** @throws BusError BUS_FORGED */
export function expectAuthentic({ refused }: StoredMessage): void {
  if (refused !== undefined) throw new BusError("BUS_FORGED", refused);
}

/** True where the payload is encrypted. */
export function isSealed({ headers }: StoredMessage): boolean {
  return headers[names.sealed] === "1";
}

/** True where the message marks a deleted key. */
export function isDelete({ headers }: StoredMessage): boolean {
  return headers[names.operation] === "delete";
}

/** The publisher that wrote the message; "" for one without headers. */
export function publisherOf({ headers }: StoredMessage): string {
  return headers[names.publisher] ?? "";
}

function storedFingerprint({ headers }: StoredMessage): string {
  return headers[names.fingerprint] ?? "";
}

function natural(headers: StoredMessage["headers"], name: string, fallback: number, max: number): number {
  // own key: one of our names
  const value = headers[name] === undefined ? fallback : Number(headers[name]);
  if (Number.isFinite(value) && value >= 0 && value <= max) return value;
  throw new BusError("BUS_BAD_EVENT", `header ${name} is no number from 0 to ${max}`);
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
    return zstdDecompressSync(packed, { maxOutputLength: maxPlainBytes });
  } catch (cause) {
    throw new BusError("BUS_BAD_EVENT", "a packed payload cannot be unpacked", { cause });
  }
}

function isSecret({ type, key }: Change): boolean {
  return type === "config" && "kind" in key && key.kind === "Secret";
}
