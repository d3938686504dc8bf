/**
 * Follows the changes of the fleet: what was written together arrives together. While it catches up
 * with what is stored, groups may have lost members to newer values; then everything comes as one.
 */
import type { ChangeGroup } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import type { Bus, StoredMessage } from "./bus.ts";
import { type Envelope, fromMessage, isSealed, marksOf } from "./envelope.ts";
import type { Seal } from "./seal.ts";
import { syncPublisher } from "./topics.ts";

export interface SubscribeOptions {
  readonly bus: Bus;
  readonly filter: string;
  readonly afterSequence: number;
  readonly seal: Seal | undefined;
  readonly log: Logger;
}

export type SubscriberItem =
  | { readonly kind: "group"; readonly group: ChangeGroup }
  /** The stored changes have been delivered. */
  | { readonly kind: "caught-up"; readonly position: number }
  /** A publisher has told its whole state. */
  | { readonly kind: "synced"; readonly publisher: string; readonly position: number }
  /** What was delivered before may not hold any more; everything follows again. */
  | { readonly kind: "reset"; readonly reason: string };

export async function* subscribe(
  { bus, filter, afterSequence, seal, log }: SubscribeOptions,
  stop: AbortSignal,
): AsyncGenerator<SubscriberItem> {
  const groups = new Groups();
  let backlog: Envelope[] | undefined = [];
  let position = afterSequence;
  for await (const item of bus.follow({ filter, afterSequence }, stop)) {
    if (item.kind === "reset") {
      groups.clear();
      backlog = [];
      yield item;
    } else if (item.kind === "caught-up") {
      position = item.sequence;
      if (backlog !== undefined && backlog.length > 0) yield { kind: "group", group: joined(backlog, position) };
      backlog = undefined;
      yield { kind: "caught-up", position };
    } else {
      const { message } = item;
      position = message.sequence;
      const publisher = syncPublisher(message.subject);
      if (publisher !== undefined) {
        for (const group of groups.flush(publisher)) yield { kind: "group", group };
        if (backlog !== undefined && backlog.length > 0)
          yield { kind: "group", group: joined(backlog.splice(0), position) };
        yield { kind: "synced", publisher, position };
        continue;
      }
      const envelope = read(message, seal, log);
      if (backlog === undefined) {
        const complete = groups.add(envelope ?? marksOf(message), position);
        for (const group of complete) yield { kind: "group", group };
      } else if (envelope !== undefined) backlog.push(envelope);
    }
  }
}

/** One unreadable message stops nothing but itself; without the key, sealed ones are for others. */
function read(message: StoredMessage, seal: Seal | undefined, log: Logger): Envelope | undefined {
  if (seal === undefined && isSealed(message)) return undefined;
  try {
    return fromMessage(message, seal);
  } catch (error) {
    log.error("a change cannot be read", { subject: message.subject, sequence: message.sequence, error });
    return undefined;
  }
}

function joined(envelopes: readonly Envelope[], position: number): ChangeGroup {
  const [first] = envelopes;
  const cause = envelopes.at(-1)?.cause ?? first?.cause;
  if (cause === undefined) throw new RangeError("a group of no changes");
  return { changes: envelopes.map(({ change }) => change), cause, position };
}

type Member = Omit<Envelope, "change"> & { readonly change?: Envelope["change"] };

/** Groups whose members are still arriving, one a publisher: publishers send one after the other. */
class Groups {
  readonly #open = new Map<
    string,
    { readonly id: string; readonly size: number; readonly members: Envelope[]; arrived: number; position: number }
  >();

  /** The groups that are complete with this member, in order; one without content is counted only. */
  add(envelope: Member, position: number): readonly ChangeGroup[] {
    const { publisher } = envelope.cause;
    const before = this.#open.get(publisher);
    // A group that lacks members although the next has begun lost them to newer values.
    const finished = before !== undefined && before.id !== envelope.group.id ? this.flush(publisher) : [];
    const current = this.#open.get(publisher) ?? { ...envelope.group, members: [], arrived: 0, position };
    if (envelope.change !== undefined) current.members.push({ ...envelope, change: envelope.change });
    current.arrived += 1;
    current.position = position;
    this.#open.set(publisher, current);
    return current.arrived >= current.size ? [...finished, ...this.flush(publisher)] : finished;
  }

  flush(publisher: string): readonly ChangeGroup[] {
    const group = this.#open.get(publisher);
    this.#open.delete(publisher);
    return group === undefined || group.members.length === 0 ? [] : [joined(group.members, group.position)];
  }

  clear(): void {
    this.#open.clear();
  }
}
