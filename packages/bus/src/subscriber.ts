/**
 * Follows the changes of the fleet: changes that were written together arrive together. While it catches up
 * with what is stored, groups may have lost members to newer values; then everything comes as one.
 */
import type { Cause, Change, ChangeGroup } from "@flotilla/model";
import { TimeSlice } from "@flotilla/runtime";
import { type Bus, horizonSubject, type StoredMessage } from "./bus.ts";
import { contentOf, expectAuthentic, type GroupMark, isSealed, marksOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import type { Digests } from "./topics.ts";
import { filters, markedDigests, syncPublisher } from "./topics.ts";

/** The topic, and the position and epoch from which to go on. */
export interface SubscribeOptions {
  readonly bus: Bus;
  /** One of `filters`; of a narrower one, changes come one by one. */
  readonly filter: string;
  readonly afterSequence: number;
  /** The epoch that `afterSequence` was read in. */
  readonly epoch?: string | undefined;
  /** `Bus.mark` as it was then. */
  readonly mark?: string | undefined;
  /** `caught-up` is reported when these have published their whole state, not before; after a `reset` again. */
  readonly publishers?: readonly string[];
  readonly seal: Seal | undefined;
}

/** Items that a subscriber receives: groups of changes, and marks between them. */
export type SubscriberItem =
  | { readonly kind: "group"; readonly group: ChangeGroup }
  /** The stored changes have been delivered. */
  | { readonly kind: "caught-up"; readonly position: number; readonly epoch: string }
  /** A publisher has published its whole state. */
  | {
      readonly kind: "synced";
      readonly publisher: string;
      readonly position: number;
      /** Of what it has published; none while what is stored still comes: newer values hide older ones then. */
      readonly digests: Digests;
    }
  /** Changes delivered before may not hold any more; everything that is stored follows. */
  | { readonly kind: "reset"; readonly reason: string; readonly epoch: string };

/**
 * Yields the changes after a position, grouped as they were written, until `stop` aborts. It waits for a bus that is away
 * and goes on where it was.
 */
export async function* subscribe(options: SubscribeOptions, stop: AbortSignal): AsyncGenerator<SubscriberItem> {
  const { bus, filter, afterSequence, epoch, mark, publishers = [] } = options;
  const isAwaiting = publishers.length > 0 && filter !== filters.everything && filter !== filters.sync;
  const wanted = isAwaiting ? [filter, filters.sync] : [filter];
  const reading = new Reading(options);
  for await (const item of bus.follow({ filters: wanted, afterSequence, epoch, mark }, stop)) {
    if (item.kind === "message") {
      const timeSlice = new TimeSlice();
      for (const found of reading.onMessage(item.message)) {
        // A message of megabytes took tens of milliseconds to read, and takes the reader as long again.
        if (timeSlice.isDue) await timeSlice.yield();
        yield found;
      }
    } else if (item.kind === "caught-up") yield* reading.onCaughtUp(item.sequence, item.epoch);
    else {
      reading.beginAgain();
      yield item;
    }
  }
}

class Reading {
  readonly #options: SubscribeOptions;
  readonly #groups: GroupGathering;
  /** Stored messages, until all have arrived; undefined afterwards. */
  #backlog: Map<string, Member> | undefined = new Map();
  /** Members of it that have been yielded: the rest of their groups may still arrive. */
  #recent: Member[] = [];
  readonly #missing: Set<string>;
  /** Everything stored has arrived, and this has not been yielded: some publishers have not published all. */
  #unsaid: { readonly epoch: string } | undefined;

  constructor(options: SubscribeOptions) {
    this.#options = options;
    this.#groups = new GroupGathering(sizeFor(options.filter));
    this.#missing = new Set(options.afterSequence === 0 ? options.publishers : []);
  }

  beginAgain(): void {
    this.#groups.clear();
    this.#backlog = new Map();
    this.#recent = [];
    this.#unsaid = undefined;
    for (const publisher of this.#options.publishers ?? []) this.#missing.add(publisher);
  }

  *onMessage(message: StoredMessage): Generator<SubscriberItem> {
    if (message.subject === horizonSubject) return;
    const publisher = syncPublisher(message.subject);
    if (publisher !== undefined) {
      yield* this.#onMarker(publisher, message);
      return;
    }
    const member = this.#member(message);
    if (member === undefined) return;
    const { subject } = member;
    if (this.#backlog !== undefined) {
      // Deleted first: the last value of each key, in the order of the sequence.
      this.#backlog.delete(subject);
      this.#backlog.set(subject, member);
    } else for (const group of this.#groups.add(member)) yield { kind: "group", group };
  }

  *onCaughtUp(sequence: number, epoch: string): Generator<SubscriberItem> {
    yield* this.#handOutBacklog(sequence);
    this.#groups.begin(this.#recent, sequence);
    this.#backlog = undefined;
    this.#recent = [];
    this.#unsaid = { epoch };
    yield* this.#sayCaughtUp(sequence);
  }

  *#onMarker(publisher: string, message: StoredMessage): Generator<SubscriberItem> {
    const { sequence: position, subject, payload } = message;
    const marked = this.#attempt(subject, () => {
      expectAuthentic(message);
      return markedDigests(payload);
    });
    // That the publisher has published all must not be somebody else's word.
    if (message.refused !== undefined) return;
    this.#missing.delete(publisher);
    // Without digests that can be read nothing is compared; that the publisher has published all holds nevertheless.
    const digests = this.#backlog === undefined ? (marked ?? {}) : {};
    if (this.#backlog === undefined) {
      for (const group of this.#groups.flush(publisher, position)) yield { kind: "group", group };
    } else yield* this.#handOutBacklog(position);
    yield { kind: "synced", publisher, position, digests };
    yield* this.#sayCaughtUp(position);
  }

  *#sayCaughtUp(position: number): Generator<SubscriberItem> {
    if (this.#unsaid === undefined || this.#missing.size > 0) return;
    const { epoch } = this.#unsaid;
    this.#unsaid = undefined;
    yield { kind: "caught-up", position, epoch };
  }

  *#handOutBacklog(position: number): Generator<SubscriberItem> {
    const members = [...(this.#backlog?.values() ?? [])];
    this.#backlog?.clear();
    const changes = members.flatMap(({ change }) => change ?? []);
    const cause = members.at(-1)?.cause;
    for (const member of members) this.#recent.push(member);
    // No event time: stored state is no measure of propagation latency.
    if (cause !== undefined && changes.length > 0)
      yield { kind: "group", group: { changes, cause: { ...cause, eventTimeMs: 0, urgent: false }, position } };
  }

  /**
   * Undefined: even whose it is cannot be read. A member whose content cannot be read counts, lest its group be waited for; without the
   * key, sealed ones are for others.
   */
  #member(message: StoredMessage): Member | undefined {
    const { seal } = this.#options;
    const { subject, sequence, storedAtMs } = message;
    const isForOthers = seal === undefined && isSealed(message);
    let place: Omit<Member, "change"> | undefined;
    const change = this.#attempt(subject, () => {
      place = { subject, sequence, storedAtMs, ...marksOf(message) };
      return isForOthers ? undefined : contentOf(message, seal);
    });
    return place && { ...place, change };
  }

  /** One unreadable message stops nothing but itself. */
  #attempt<T>(subject: string, read: () => T): T | undefined {
    const { setAside } = this.#options.bus;
    try {
      const found = read();
      setAside.heal(subject);
      return found;
    } catch (error) {
      setAside.note(subject, error);
      return undefined;
    }
  }
}

/** How many members of a group come through a filter. */
function sizeFor(filter: string): SizeOf {
  if (filter === filters.everything) return ({ size }) => size;
  const isTopic = [filters.config, filters.services, filters.endpoints, filters.workloads].some(
    (topic) => topic === filter,
  );
  return isTopic ? ({ sizeInTopic }) => sizeInTopic : () => 1;
}

/** One message of a group. */
export interface Member {
  readonly subject: string;
  readonly sequence: number;
  readonly storedAtMs: number;
  readonly cause: Cause;
  readonly group: GroupMark;
  /** Absent where the content cannot be read: it counts nevertheless. */
  readonly change?: Change | undefined;
}

interface OpenGroup {
  readonly id: string;
  readonly size: number;
  /** Subjects that have arrived: a message that was stored twice counts once. */
  readonly arrived: Set<string>;
  readonly members: Member[];
}

/** A publisher that has not completed a group in this time has broken off within it. */
const brokenOffMs = 10_000;

/** How many members of a group a reader of one topic receives. */
export type SizeOf = (group: GroupMark) => number;

/** Collects members until their group is complete; incomplete groups are released after a bounded time. */
export class GroupGathering {
  readonly #sizeOf: SizeOf;
  /** One a publisher: publishers send one group after the other. */
  readonly #open = new Map<string, OpenGroup>();
  #last = 0;

  constructor(sizeOf: SizeOf) {
    this.#sizeOf = sizeOf;
  }

  /** Up to here everything has been handed out: reading may begin again after it. */
  get position(): number {
    const first = [...this.#open.values()].flatMap(({ members }) => members[0]?.sequence ?? []);
    return Math.min(this.#last, ...first.map((sequence) => sequence - 1));
  }

  /** Returns the groups that are complete now, in order. */
  add(member: Member): readonly ChangeGroup[] {
    const { publisher } = member.cause;
    this.#last = member.sequence;
    const finished = this.#brokenOff(member.storedAtMs);
    // A group that lacks members although the next has begun lost them to newer values.
    if (this.#open.get(publisher)?.id !== member.group.id) finished.push(...this.#close(publisher));
    const group = this.#open.get(publisher) ?? openGroup(member, this.#sizeOf);
    this.#open.set(publisher, group);
    group.arrived.add(member.subject);
    group.members.push(member);
    if (group.arrived.size >= group.size) finished.push(...this.#close(publisher));
    return this.#joined(finished);
  }

  /** The open group of the publisher gets no more members. */
  flush(publisher: string, sequence: number): readonly ChangeGroup[] {
    this.#last = sequence;
    return this.#joined([...this.#close(publisher)]);
  }

  /** The reader has read everything up to `sequence`; more members of the groups of `members` may arrive. */
  begin(members: readonly Member[], sequence: number): void {
    this.clear();
    this.#last = sequence;
    for (const member of members) {
      const before = this.#open.get(member.cause.publisher);
      const group = before?.id === member.group.id ? before : openGroup(member, this.#sizeOf);
      this.#open.set(member.cause.publisher, group);
      group.arrived.add(member.subject);
    }
    for (const [publisher, { arrived, size }] of this.#open) if (arrived.size >= size) this.#open.delete(publisher);
  }

  clear(): void {
    this.#open.clear();
    this.#last = 0;
  }

  #close(publisher: string): readonly (readonly Member[])[] {
    const group = this.#open.get(publisher);
    this.#open.delete(publisher);
    return group === undefined ? [] : [group.members];
  }

  #brokenOff(nowMs: number): (readonly Member[])[] {
    const late = [...this.#open].filter(
      ([
        ,
        {
          members: [first],
        },
      ]) => nowMs - (first?.storedAtMs ?? nowMs) > brokenOffMs,
    );
    return late.flatMap(([publisher]) => this.#close(publisher));
  }

  #joined(finished: readonly (readonly Member[])[]): readonly ChangeGroup[] {
    const { position } = this;
    return finished.flatMap((members) => {
      const changes = members.flatMap(({ change }) => change ?? []);
      const cause = members.at(-1)?.cause;
      return cause === undefined || changes.length === 0 ? [] : [{ changes, cause, position }];
    });
  }
}

function openGroup({ group }: Member, sizeOf: SizeOf): OpenGroup {
  return { id: group.id, size: sizeOf(group), arrived: new Set(), members: [] };
}
