/** The bus within one process: `embedded:NAME` is the same sequence for all who connect to that name. */
import { Wakeup } from "@flotilla/runtime";
import type { Bus, BusItem, BusState, FollowOptions, OutgoingMessage, StoredMessage } from "./bus.ts";
import { BusError } from "./errors.ts";
import { matchesFilter } from "./subject.ts";

class Sequence {
  readonly bySubject = new Map<string, StoredMessage>();
  readonly followers = new Set<() => void>();
  last = 0;

  append({ subject, payload, headers = {} }: OutgoingMessage): number {
    const sequence = ++this.last;
    // Deleted first: the map's order is then the order of the sequences.
    this.bySubject.delete(subject);
    this.bySubject.set(subject, { subject, sequence, payload, headers });
    return sequence;
  }

  after(sequence: number, filter: string): readonly StoredMessage[] {
    const found: StoredMessage[] = [];
    for (const message of [...this.bySubject.values()].reverse()) {
      if (message.sequence <= sequence) break;
      if (matchesFilter(message.subject, filter)) found.push(message);
    }
    return found.reverse();
  }
}

/** Module-level on purpose: services in one process find each other by name, like by a server's URL. */
const sequences = new Map<string, { readonly sequence: Sequence; users: number }>();

const connected: BusState = { connected: true };

export function connectEmbedded(name: string): Bus {
  const shared = sequences.get(name) ?? { sequence: new Sequence(), users: 0 };
  sequences.set(name, shared);
  shared.users++;
  const { sequence } = shared;
  let isClosed = false;
  return {
    state: connected,
    onState: () => () => {},
    publish: async (messages) => {
      if (isClosed) throw new BusError("BUS_CLOSED", "the bus is closed");
      const positions = messages.map((message) => sequence.append(message));
      for (const wake of sequence.followers) wake();
      return positions;
    },
    lastValues: async (filter) => sequence.after(0, filter),
    follow: (options, stop) => follow(sequence, options, stop),
    [Symbol.asyncDispose]: async () => {
      if (isClosed) return;
      isClosed = true;
      shared.users--;
      if (shared.users === 0) sequences.delete(name);
    },
  };
}

async function* follow(
  sequence: Sequence,
  { filter, afterSequence }: FollowOptions,
  stop: AbortSignal,
): AsyncGenerator<BusItem> {
  const wakeup = new Wakeup();
  const wake = () => wakeup.wake();
  sequence.followers.add(wake);
  stop.addEventListener("abort", wake, { once: true });
  try {
    if (afterSequence > sequence.last)
      yield { kind: "reset", reason: `position ${afterSequence} lies after the end, ${sequence.last}` };
    let position = afterSequence > sequence.last ? 0 : afterSequence;
    let isCaughtUp = false;
    while (!stop.aborted) {
      const { last } = sequence;
      for (const message of sequence.after(position, filter)) {
        yield { kind: "message", message };
        if (stop.aborted) return;
      }
      position = last;
      if (!isCaughtUp) yield { kind: "caught-up", sequence: last };
      isCaughtUp = true;
      if (sequence.last === position) await wakeup.wait(stop);
    }
  } finally {
    sequence.followers.delete(wake);
    stop.removeEventListener("abort", wake);
  }
}
