/**
 * Puts groups together again from their members, whose messages arrive one by one and mixed with
 * those of other publishers. Pure: the time is the server's, on the messages.
 */
import type { Cause, Change, ChangeGroup } from "@flotilla/model";
import type { GroupMark } from "./envelope.ts";

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

  /** What is complete now, in order. */
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

  /** What the publisher has begun is all there will be. */
  flush(publisher: string, sequence: number): readonly ChangeGroup[] {
    this.#last = sequence;
    return this.#joined([...this.#close(publisher)]);
  }

  /** The reader knows everything up to `sequence`; of the groups that `members` belong to more may come. */
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
