/**
 * Digests of what a publisher has published: who follows it compares them with what he holds, and knows that nothing was lost on
 * the way. A number that does not depend on the order, one for each topic.
 */

import { hash } from "node:crypto";
import { ownValue } from "@flotilla/model";
import { subjectRoot } from "./bus.ts";

/** What there is of a topic; equal for equal states. */
export interface TopicDigest {
  readonly count: number;
  /** Sum over all keys and contents, modulo 2⁴⁸. */
  readonly sum: number;
}

/** By topic: `service`, `endpoints`, `config.<kind>`. */
export type Digests = Readonly<Record<string, TopicDigest>>;

/** A key that a reader holds: its subject and the fingerprint of the last value. */
export interface KeyState {
  readonly subject: string;
  readonly fingerprint: string;
}

const modulus = 2 ** 48;

/** @param topics that are published even when nothing is left of them */
export function digestsOf(states: Iterable<KeyState>, topics: Iterable<string> = []): Digests {
  const digests = new Map<string, TopicDigest>();
  for (const topic of topics) digests.set(topic, { count: 0, sum: 0 });
  for (const { subject, fingerprint } of states) {
    const topic = topicOf(subject);
    const { count, sum } = digests.get(topic) ?? { count: 0, sum: 0 };
    digests.set(topic, { count: count + 1, sum: (sum + weight(subject, fingerprint)) % modulus });
  }
  return Object.fromEntries(digests);
}

/** The digests of what comes and goes: each change costs the same, however much there is. */
export class RunningDigests {
  readonly #digests = new Map<string, TopicDigest>();

  /** @param sign -1 takes away what was added */
  note({ subject, fingerprint }: KeyState, sign: 1 | -1): void {
    const topic = topicOf(subject);
    const { count, sum } = this.#digests.get(topic) ?? { count: 0, sum: 0 };
    const moved = (sum + sign * weight(subject, fingerprint) + modulus) % modulus;
    this.#digests.set(topic, { count: count + sign, sum: moved });
  }

  /** Topics of which nothing is left have their place, too. */
  read(): Digests {
    return Object.fromEntries(this.#digests);
  }
}

/** The topic of a subject, such as `config` or `service`: digests are counted by topic. */
export function topicOf(subject: string): string {
  const [type = "", kind = ""] = subject.slice(subjectRoot.length + 1).split(".", 2);
  return type === "config" ? `config.${kind}` : type;
}

/** Topics whose digests differ. */
export function differingTopics(published: Digests, held: Digests): readonly string[] {
  return Object.entries(published)
    .filter(([topic, { count, sum }]) => {
      const own = ownValue(held, topic) ?? { count: 0, sum: 0 };
      return own.count !== count || own.sum !== sum;
    })
    .map(([topic]) => topic);
}

function weight(subject: string, fingerprint: string): number {
  return Number.parseInt(hash("sha256", `${subject} ${fingerprint}`).slice(0, 12), 16);
}
