/**
 * Proves that what is served is what the controllers told: their digests are compared with ours, and where they differ the
 * stream is asked key by key.
 */
import {
  type Bus,
  type Digests,
  differences,
  differingTopics,
  digestsOf,
  type KeyState,
  keyState,
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
  /** Changes are never altered: what was computed of one stays. */
  readonly #states = new WeakMap<Change, KeyState>();
  /** Who tells of a topic: one that several tell of has no digest to compare with. */
  readonly #tellers = new Map<string, Set<string>>();
  readonly #agreedAtMs = new Map<string, number>();

  constructor(options: DigestCheckOptions) {
    this.#options = options;
  }

  /**
   * Differences between what the stream holds up to `position` and the inputs, as changes that mend them; nothing may
   * change the inputs meanwhile.
   */
  async check(bus: Bus, publisher: string, told: Digests, position: number): Promise<readonly Change[]> {
    const { seal, log, nowMs } = this.#options;
    const ours = this.#toldByOne(publisher, told);
    const held = await this.#keyStates();
    const topics = differingTopics(ours, digestsOf(held));
    const found = topics.length === 0 ? [] : await differences({ bus, seal, position, held, topics: new Set(topics) });
    const since = Math.min(...topics.map((topic) => this.#agreedAtMs.get(topic) ?? nowMs()));
    if (found.length > 0)
      log.warn("what is served was not what was told, it is repaired", {
        ...{ publisher, topics, count: found.length },
        atMostSinceMs: nowMs() - since,
      });
    for (const topic of Object.keys(ours)) this.#agreedAtMs.set(topic, nowMs());
    return found;
  }

  #toldByOne(publisher: string, told: Digests): Digests {
    for (const topic of Object.keys(told)) {
      const tellers = this.#tellers.get(topic) ?? new Set();
      this.#tellers.set(topic, tellers.add(publisher));
    }
    return Object.fromEntries(Object.entries(told).filter(([topic]) => this.#tellers.get(topic)?.size === 1));
  }

  async #keyStates(): Promise<readonly KeyState[]> {
    const { inputs, seal } = this.#options;
    const states: KeyState[] = [];
    const timeSlice = new TimeSlice(sliceMs);
    for (const [, change] of inputs.entries()) {
      const state = this.#states.get(change) ?? keyState(change, seal);
      this.#states.set(change, state);
      states.push(state);
      if (timeSlice.isDue) await timeSlice.yield();
    }
    return states;
  }
}
