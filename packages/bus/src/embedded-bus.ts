/** The bus within one process: `embedded:NAME` is the same sequence for all who connect to that name. */
import { randomUUID } from "node:crypto";
import { noopLogger, Wakeup } from "@flotilla/runtime";
import {
  type Bus,
  type BusItem,
  type BusState,
  type FollowOptions,
  horizonSubject,
  type OutgoingMessage,
  type StoredMessage,
  whyReset,
} from "./bus.ts";
import { Bucket, openEmbeddedKeyValue } from "./embedded-key-value.ts";
import { BusError } from "./errors.ts";
import { SetAside } from "./set-aside.ts";
import { matchesFilter } from "./topics.ts";

class Sequence {
  readonly epoch = randomUUID();
  readonly bySubject = new Map<string, StoredMessage>();
  readonly followers = new Set<() => void>();
  readonly buckets = new Map<string, Bucket>();
  last = 0;
  horizon = 0;

  append({ subject, payload, headers = {} }: OutgoingMessage, storedAtMs: number): number {
    const sequence = ++this.last;
    // Deleted first: the map's order is then the order of the sequences.
    this.bySubject.delete(subject);
    this.bySubject.set(subject, { subject, sequence, payload, headers, storedAtMs });
    return sequence;
  }

  after(sequence: number, filters: readonly string[]): readonly StoredMessage[] {
    const found: StoredMessage[] = [];
    for (const message of [...this.bySubject.values()].reverse()) {
      if (message.sequence <= sequence) break;
      if (filters.some((filter) => matchesFilter(message.subject, filter))) found.push(message);
    }
    return found.reverse();
  }

  wake(): void {
    for (const wake of this.followers) wake();
  }
}

/** Module-level on purpose: services in one process find each other by name, like by a server's URL. */
const sequences = new Map<string, { readonly sequence: Sequence; users: number }>();

const connected: BusState = { connected: true };

/** Connects to the bus of this process by name; it lives as long as the process. */
export function connectEmbedded(
  name: string,
  nowMs: () => number,
  setAside: SetAside = new SetAside({ log: noopLogger, nowMs }),
): Bus {
  const shared = sequences.get(name) ?? { sequence: new Sequence(), users: 0 };
  sequences.set(name, shared);
  shared.users++;
  const { sequence } = shared;
  const closing = new AbortController();
  return {
    setAside,
    state: connected,
    onState: () => () => undefined,
    epoch: sequence.epoch,
    // It lives as long as its process, and cannot be rewound.
    mark: undefined,
    onEpoch: () => () => undefined,
    maxMessageBytes: Number.MAX_SAFE_INTEGER,
    publish: async (messages) => {
      closing.signal.throwIfAborted();
      const positions = messages.map((message) => sequence.append(message, nowMs()));
      sequence.wake();
      return positions;
    },
    lastValues: async (filter, { afterSequence = 0 } = {}) => sequence.after(afterSequence, [filter]),
    count: async (filter) => sequence.after(0, [filter]).length,
    lastSequence: async (filter) => sequence.after(0, [filter]).at(-1)?.sequence ?? 0,
    follow: (options, stop) => follow(sequence, options, AbortSignal.any([stop, closing.signal])),
    forget: async (forgotten) => forget(sequence, forgotten, nowMs()),
    keyValue: async (bucketName, options = {}) => {
      const bucket = sequence.buckets.get(bucketName) ?? new Bucket();
      sequence.buckets.set(bucketName, bucket);
      return openEmbeddedKeyValue(bucket, { ...options, bucket: bucketName, setAside, nowMs });
    },
    [Symbol.asyncDispose]: async () => {
      if (closing.signal.aborted) return;
      closing.abort(new BusError("BUS_CLOSED", "the bus is closed"));
      shared.users--;
      if (shared.users === 0) sequences.delete(name);
    },
  };
}

function forget(sequence: Sequence, forgotten: readonly number[], nowMs: number): void {
  if (forgotten.length === 0) return;
  const gone = new Set(forgotten);
  for (const [subject, message] of sequence.bySubject)
    if (gone.has(message.sequence)) sequence.bySubject.delete(subject);
  sequence.horizon = Math.max(sequence.horizon, ...forgotten);
  sequence.append({ subject: horizonSubject, payload: new TextEncoder().encode(String(sequence.horizon)) }, nowMs);
  sequence.wake();
}

async function* follow(
  sequence: Sequence,
  { filters, afterSequence, epoch }: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<BusItem> {
  const wakeup = new Wakeup();
  const wake = () => wakeup.wake();
  sequence.followers.add(wake);
  try {
    const reason = whyReset({ position: afterSequence, epoch, mark: undefined }, { ...sequence, marked: "same" });
    if (reason !== undefined) yield { kind: "reset", reason, epoch: sequence.epoch };
    let position = reason === undefined ? afterSequence : 0;
    let isCaughtUp = false;
    while (!stop.aborted) {
      const { last } = sequence;
      for (const message of sequence.after(position, filters)) {
        yield { kind: "message", message };
        if (stop.aborted) return;
      }
      position = last;
      if (!isCaughtUp) yield { kind: "caught-up", sequence: last, epoch: sequence.epoch };
      isCaughtUp = true;
      if (sequence.last === position) await wakeup.wait(stop);
    }
  } finally {
    sequence.followers.delete(wake);
  }
}
