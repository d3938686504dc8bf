/** A change as a message: its cause in the headers, its content sealed when it is secret. */

import { hash } from "node:crypto";
import type { Cause, Change } from "@flotilla/model";
import type { OutgoingMessage, StoredMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import type { Seal } from "./seal.ts";
import { decodeChange, encodeChange, subjectOf } from "./topics.ts";

/** Changes that were written together have one id and know how many they are. */
export interface GroupMark {
  readonly id: string;
  readonly size: number;
}

const names = {
  publisher: "Flotilla-Publisher",
  epoch: "Flotilla-Epoch",
  revision: "Flotilla-Revision",
  eventTime: "Flotilla-Event-Time",
  urgent: "Flotilla-Urgent",
  group: "Flotilla-Group",
  groupSize: "Flotilla-Group-Size",
  fingerprint: "Flotilla-Fingerprint",
  sealed: "Flotilla-Sealed",
} as const;

/** @throws BusError BUS_SEALED when a Secret is to travel and there is no key */
export function toMessage(change: Change, cause: Cause, group: GroupMark, seal: Seal | undefined): OutgoingMessage {
  const plain = encodeChange(change);
  const secret = isSecret(change);
  if (secret && seal === undefined) throw new BusError("BUS_SEALED", "Secrets cannot be published without a seal key");
  return {
    subject: subjectOf(change),
    payload: secret && seal !== undefined ? seal.seal(plain) : plain,
    headers: {
      [names.publisher]: cause.publisher,
      [names.epoch]: cause.epoch,
      [names.revision]: String(cause.revision),
      [names.eventTime]: String(cause.eventTimeMs),
      [names.group]: group.id,
      [names.groupSize]: String(group.size),
      [names.fingerprint]: fingerprintOf(change, seal),
      ...(cause.urgent === true && { [names.urgent]: "1" }),
      ...(secret && { [names.sealed]: "1" }),
    },
  };
}

/** Equal changes have equal fingerprints, whoever computes them. */
export function fingerprintOf(change: Change, seal: Seal | undefined): string {
  const plain = encodeChange(change);
  return isSecret(change) && seal !== undefined ? seal.fingerprint(plain) : hash("sha256", plain).slice(0, 32);
}

export interface Envelope {
  readonly change: Change;
  readonly cause: Cause;
  readonly group: GroupMark;
}

/** @throws BusError BUS_BAD_EVENT, BUS_SEALED */
export function fromMessage(message: StoredMessage, seal: Seal | undefined): Envelope {
  const sealed = isSealed(message);
  if (sealed && seal === undefined) throw new BusError("BUS_SEALED", "a sealed payload needs the seal key");
  const change = decodeChange(sealed && seal !== undefined ? seal.open(message.payload) : message.payload);
  return { change, ...marksOf(message) };
}

/** Whose a change is and with which others it was written: told even where the content cannot be read. */
export function marksOf({ headers, sequence }: StoredMessage): Omit<Envelope, "change"> {
  const cause: Cause = {
    publisher: headers[names.publisher] ?? "",
    epoch: headers[names.epoch] ?? "",
    revision: Number(headers[names.revision] ?? 0),
    eventTimeMs: Number(headers[names.eventTime] ?? 0),
    ...(headers[names.urgent] === "1" && { urgent: true }),
  };
  const group = { id: headers[names.group] ?? `single-${sequence}`, size: Number(headers[names.groupSize] ?? 1) };
  return { cause, group };
}

export function isSealed({ headers }: StoredMessage): boolean {
  return headers[names.sealed] === "1";
}

export function publisherOf({ headers }: StoredMessage): string {
  return headers[names.publisher] ?? "";
}

export function storedFingerprint({ headers }: StoredMessage): string {
  return headers[names.fingerprint] ?? "";
}

function isSecret({ type, key }: Change): boolean {
  return type === "config" && "kind" in key && key.kind === "Secret";
}
