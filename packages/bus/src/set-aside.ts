/**
 * Values from outside that were set aside on input: malformed, of another type, not authenticated. Each has the name of its place (a
 * subject, a bucket and key); the next good value of the place takes it off the list. The value in force stays in force.
 */
import type { Logger } from "@flotilla/runtime";

/** A value that was not used, with the reason. */
export interface SetAsideValue {
  /** A subject, or `bucket/key`. */
  readonly place: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** How often a value of this place was set aside since. */
  readonly count: number;
}

/** The log and the clock in milliseconds since 1970. */
export interface SetAsideOptions {
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** An attacker can name as many places as they like: beyond this bound only the number is kept. */
const maxPlaces = 1_000;
const maxPlaceLength = 300;
const namedInSummary = 3;

/** The list of values that were set aside, for a log line each and for the readiness page. */
export class SetAside {
  readonly #options: SetAsideOptions;
  readonly #values = new Map<string, SetAsideValue>();
  readonly #listeners = new Set<() => void>();
  readonly #counters = new Set<() => void>();

  constructor(options: SetAsideOptions) {
    this.#options = options;
  }

  /** Logged once for each place, until it is healed. */
  note(place: string, error: unknown): void {
    const { log, nowMs } = this.#options;
    const name = place.slice(0, maxPlaceLength);
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, maxPlaceLength);
    for (const count of this.#counters) count();
    const known = this.#values.get(name);
    if (known === undefined && this.#values.size >= maxPlaces) return;
    this.#values.set(name, { place: name, reason, sinceMs: known?.sinceMs ?? nowMs(), count: (known?.count ?? 0) + 1 });
    if (known !== undefined) return;
    log.error("invalid value ignored, the last valid one stays in force", { place: name, reason });
    this.#notify();
  }

  /** A good value stands there now, or none. Costs nothing while nothing is set aside. */
  heal(place: string): void {
    if (this.#values.size === 0 || !this.#values.delete(place.slice(0, maxPlaceLength))) return;
    this.#options.log.info("value accepted again", { place });
    this.#notify();
  }

  /** Everything that is stored is read again from its beginning. */
  clear(): void {
    if (this.#values.size === 0) return;
    this.#values.clear();
    this.#notify();
  }

  list(): readonly SetAsideValue[] {
    return [...this.#values.values()];
  }

  /** One line for a readiness page; undefined when nothing is set aside. */
  summary(): string | undefined {
    if (this.#values.size === 0) return undefined;
    const named = this.list()
      .slice(0, namedInSummary)
      .map(({ place, reason }) => `${place} (${reason})`);
    const more = this.#values.size - named.length;
    return `${this.#values.size} ignored: ${named.join(", ")}${more > 0 ? `, and ${more} more in the log` : ""}`;
  }

  /** Called when the list changes. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Called for each value. */
  onNote(listener: () => void): void {
    this.#counters.add(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
