/**
 * Messages of the stream are authenticated: a code over subject, headers and payload, by a key that only the services have. An attacker
 * with access to NATS can remove messages, and their publishers write them again. Each also carries a stamp that grows with every message
 * of the fleet: an old message that is stored again is older than those its readers have seen.
 */
import { timingSafeEqual } from "node:crypto";
import { TimeSlice } from "@flotilla/runtime";
import { authenticatedKeyValue } from "./authenticated-key-value.ts";
import { type Bus, type BusItem, horizonSubject, type OutgoingMessage, type StoredMessage } from "./bus.ts";
import { isDelete } from "./envelope.ts";
import type { Seal } from "./seal.ts";

const names = { code: "Flotilla-Mac", stamp: "Flotilla-Stamp" } as const;
const ours = "Flotilla-";

/** The same bus, whose messages and values are authenticated by a key derived from the seal key. */
export function authenticatedBus(bus: Bus, seal: Seal, nowMs: () => number): Bus {
  const codes = new MessageCodes(seal, nowMs);
  return {
    publish: (messages) => bus.publish(messages.map((message) => codes.sign(message))),
    lastValues: async (filter, options) => {
      const verified: StoredMessage[] = [];
      const timeSlice = new TimeSlice();
      for (const message of await bus.lastValues(filter, options)) {
        if (timeSlice.isDue) await timeSlice.yield();
        verified.push(codes.verified(message));
      }
      return verified;
    },
    count: (filter) => bus.count(filter),
    lastSequence: (filter) => bus.lastSequence(filter),
    follow: (options, stop) => follow(bus.follow(options, stop), codes),
    forget: (sequences) => bus.forget(sequences),
    keyValue: async (bucket, options) => {
      const values = await bus.keyValue(bucket, options);
      return options?.isSealed === true ? values : authenticatedKeyValue(values, seal, options?.acceptsAny);
    },
    get epoch() {
      return bus.epoch;
    },
    get mark() {
      return bus.mark;
    },
    onEpoch: (listener) => bus.onEpoch(listener),
    get maxMessageBytes() {
      return bus.maxMessageBytes;
    },
    setAside: bus.setAside,
    get state() {
      return bus.state;
    },
    onState: (listener) => bus.onState(listener),
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}

class MessageCodes {
  readonly #seal: Seal;
  readonly #nowMs: () => number;
  /** Of any authentic message that was read or written here: what we write next is newer. */
  #lastStamp = 0;

  constructor(seal: Seal, nowMs: () => number) {
    this.#seal = seal;
    this.#nowMs = nowMs;
  }

  sign(message: OutgoingMessage): OutgoingMessage {
    this.#lastStamp = Math.max(this.#lastStamp + 1, Math.round(this.#nowMs() * 1_000));
    const headers = { ...message.headers, [names.stamp]: String(this.#lastStamp) };
    return { ...message, headers: { ...headers, [names.code]: this.#code({ ...message, headers }) } };
  }

  /** One that is not authentic has the reason in `refused`. */
  verified(message: StoredMessage): StoredMessage {
    // Written by the bus itself; a wrong one makes readers begin again, no more.
    if (message.subject === horizonSubject) return message;
    const code = message.headers[names.code];
    if (code === undefined) return { ...message, refused: "it is not authenticated: its writer had no key" };
    if (!isEqual(code, this.#code(message)))
      return { ...message, refused: "it is not authentic: written with another key, or changed" };
    this.#lastStamp = Math.max(this.#lastStamp, stampOf(message));
    return message;
  }

  #code({ subject, headers = {}, payload }: Pick<OutgoingMessage, "subject" | "headers" | "payload">): string {
    const covered = Object.keys(headers).filter((name) => name.startsWith(ours) && name !== names.code);
    // own key: of the headers
    const parts = covered.sort().flatMap((name) => [name, headers[name] ?? ""]);
    return this.#seal.mac("bus message", [subject, ...parts, payload]).toString("base64url");
  }
}

/** Stamps of deleted keys that a reader keeps. */
const maxDeletedStamps = 10_000;

interface Stamps {
  readonly ofKeys: Map<string, number>;
  /** Oldest delete first. */
  readonly ofDeleted: Map<string, number>;
}

/** Pods come and go under new names: of keys that are gone the last are kept, so that a reader does not grow without end. */
function noteStamp({ ofKeys, ofDeleted }: Stamps, message: StoredMessage, stamp: number): void {
  const { subject } = message;
  ofKeys.delete(subject);
  ofDeleted.delete(subject);
  if (!isDelete(message)) {
    ofKeys.set(subject, stamp);
    return;
  }
  ofDeleted.set(subject, stamp);
  if (ofDeleted.size <= maxDeletedStamps) return;
  for (const oldest of ofDeleted.keys()) {
    ofDeleted.delete(oldest);
    return;
  }
}

/** Of messages of one subject the newest counts: older ones that come after it were stored again by somebody else. */
async function* follow(items: AsyncIterable<BusItem>, codes: MessageCodes): AsyncGenerator<BusItem> {
  const stamps: Stamps = { ofKeys: new Map(), ofDeleted: new Map() };
  for await (const item of items) {
    if (item.kind !== "message") {
      // After a reset, the servers may hold an older state than before.
      if (item.kind === "reset") for (const one of Object.values(stamps)) one.clear();
      yield item;
      continue;
    }
    const message = codes.verified(item.message);
    const stamp = stampOf(message);
    const known = stamps.ofKeys.get(message.subject) ?? stamps.ofDeleted.get(message.subject) ?? 0;
    if (message.refused !== undefined || stamp >= known) {
      if (message.refused === undefined) noteStamp(stamps, message, stamp);
      yield { kind: "message", message };
    } else yield { kind: "message", message: { ...message, refused: "it is older than what was read before it" } };
  }
}

function stampOf({ headers }: StoredMessage): number {
  const stamp = Number(headers[names.stamp] ?? 0);
  return Number.isSafeInteger(stamp) ? stamp : 0;
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
