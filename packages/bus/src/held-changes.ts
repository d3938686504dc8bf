/**
 * What the stream holds of one publisher, by subject: what is to be told is compared with it. The changes themselves are there
 * to be told again should the stream be lost, unless the source can be asked for them.
 */
import type { Change } from "@flotilla/model";
import type { StoredMessage } from "./bus.ts";
import type { KeyState } from "./digest.ts";
import { type Prepared, storedFingerprint } from "./envelope.ts";
import { subjectOf } from "./topics.ts";

interface Held {
  readonly fingerprint: string;
  readonly change?: Change;
}

export class HeldChanges {
  readonly #held = new Map<string, Held>();
  readonly #current: (() => readonly Change[]) | undefined;

  /** @param current the source's whole state, asked for in place of remembering each change */
  constructor(current: (() => readonly Change[]) | undefined) {
    this.#current = current;
  }

  get subjects(): readonly string[] {
    return [...this.#held.keys()];
  }

  has(subject: string): boolean {
    return this.#held.has(subject);
  }

  states(): readonly KeyState[] {
    return [...this.#held].map(([subject, { fingerprint }]) => ({ subject, fingerprint }));
  }

  /** Read in the stream. */
  read(message: StoredMessage): void {
    this.#held.set(message.subject, { fingerprint: storedFingerprint(message) });
  }

  /** Also remembers the change of an equal one, for the stream may be lost. */
  differs(prepared: Prepared): boolean {
    const known = this.#held.get(prepared.subject);
    if (prepared.change.op === "delete") return known !== undefined;
    if (known?.fingerprint !== prepared.fingerprint) return true;
    this.remember(prepared);
    return false;
  }

  /** Stored in the stream. */
  remember({ change, subject, fingerprint }: Prepared): void {
    if (change.op === "delete") this.#held.delete(subject);
    else this.#held.set(subject, { fingerprint, ...(this.#current === undefined && { change }) });
  }

  /** What was told and does not stand here as it was told; of what does, the change is taken over. */
  missingOf(told: HeldChanges): readonly Change[] {
    const missing = new Map<string, Held>();
    for (const [subject, held] of told.#held)
      if (this.#held.get(subject)?.fingerprint === held.fingerprint) this.#held.set(subject, held);
      else missing.set(subject, held);
    return this.#changesOf(missing);
  }

  changes(): readonly Change[] {
    return this.#changesOf(this.#held);
  }

  #changesOf(held: ReadonlyMap<string, Held>): readonly Change[] {
    if (held.size === 0) return [];
    if (this.#current === undefined) return [...held.values()].flatMap(({ change }) => change ?? []);
    return this.#current().filter((change) => held.has(subjectOf(change)));
  }
}
