/**
 * Proves that what is served is what the controllers published: their digests are compared with ours, and where they differ the
 * stream is asked key by key.
 */
import {
  type Bus,
  type Digests,
  differences,
  differingTopics,
  type KeyState,
  keyState,
  RunningDigests,
  type Seal,
} from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { type Logger, TimeSlice } from "@flotilla/runtime";
import type { Inputs } from "./inputs.ts";

export interface DigestCheckOptions {
  readonly inputs: Inputs;
  readonly seal: Seal | undefined;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** Work of this length makes room for others. */
const sliceMs = 5;

export class DigestCheck {
  readonly #options: DigestCheckOptions;
  /** Changes are never altered: digests of one stay valid. */
  readonly #states = new WeakMap<Change, KeyState>();
  /** Publishers of a topic: one with several has no digest to compare with. */
  readonly #publishers = new Map<string, Set<string>>();
  readonly #agreedAtMs = new Map<string, number>();

  constructor(options: DigestCheckOptions) {
    this.#options = options;
  }

  /** Topics of the publisher in which the inputs, as they are at the call, differ from its digests. */
  async differing(publisher: string, published: Digests): Promise<readonly string[]> {
    const ours = this.#ofSinglePublisher(publisher, published);
    const digests = new RunningDigests();
    await this.#keyStates((state) => digests.note(state, 1));
    const topics = differingTopics(ours, digests.read());
    for (const topic of Object.keys(ours))
      if (!topics.includes(topic)) this.#agreedAtMs.set(topic, this.#options.nowMs());
    return topics;
  }

  /**
   * Differences between what the stream holds of these topics up to `position` and the inputs, as changes that repair them; nothing may
   * change the inputs meanwhile.
   */
  async repairs(bus: Bus, publisher: string, topics: readonly string[], position: number): Promise<readonly Change[]> {
    const { seal, log, nowMs } = this.#options;
    const held = await this.#keyStates();
    const found = await differences({ bus, seal, position, held, topics: new Set(topics) });
    const since = Math.min(...topics.map((topic) => this.#agreedAtMs.get(topic) ?? nowMs()));
    if (found.length > 0)
      log.warn("digest mismatch repaired", {
        ...{ publisher, topics, count: found.length },
        atMostSinceMs: nowMs() - since,
      });
    for (const topic of topics) this.#agreedAtMs.set(topic, nowMs());
    return found;
  }

  #ofSinglePublisher(publisher: string, published: Digests): Digests {
    for (const topic of Object.keys(published)) {
      const publishers = this.#publishers.get(topic) ?? new Set();
      this.#publishers.set(topic, publishers.add(publisher));
    }
    return Object.fromEntries(Object.entries(published).filter(([topic]) => this.#publishers.get(topic)?.size === 1));
  }

  /** Of the inputs as they are at the call. */
  async #keyStates(onState?: (state: KeyState) => void): Promise<readonly KeyState[]> {
    const { inputs, seal } = this.#options;
    const states: KeyState[] = [];
    const timeSlice = new TimeSlice(sliceMs);
    for (const change of Array.from(inputs.entries(), ([, one]) => one)) {
      const state = this.#states.get(change) ?? keyState(change, seal);
      this.#states.set(change, state);
      states.push(state);
      onState?.(state);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    return states;
  }
}
