/**
 * Objects whose status waits to be looked at, so many at a time: only due objects are looked at, however
 * many wait. Pure: the caller passes the time.
 */

export interface Due {
  /** `Kind/namespace/name`. */
  readonly object: string;
  /** Since when its status may be different from what was written. */
  readonly sinceMs: number;
}

export interface DueOptions {
  /** Between two looks at an object that has more to come. */
  readonly againMs: number;
  /** An object without a report is shown as such after this long. */
  readonly silenceMs: number;
}

export class DueObjects {
  readonly #options: DueOptions;
  /** Not looked at yet. */
  readonly #fresh = new Map<string, Due>();
  /** More is to come, with the time of the next look: in its order, for the time between looks is one. */
  readonly #again = new Map<string, Due & { readonly lookAtMs: number }>();
  /** Objects without a report yet, in order of `sinceMs`, except for those due much later anyway. */
  readonly #silent = new Map<string, Due>();
  /** Objects whose status already states that they are not reported. */
  readonly #unheard = new Map<string, Due>();

  constructor(options: DueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.size, 0);
  }

  /** True where `take` may give something without another report. */
  get isPending(): boolean {
    return this.size > this.#unheard.size;
  }

  /** A waiting object keeps its place, unless it waits for a report. */
  note(object: string, nowMs: number): void {
    this.#unheard.delete(object);
    if (!this.#lanes.some((lane) => lane.has(object))) this.#fresh.set(object, { object, sinceMs: nowMs });
  }

  /** A taken object that is to be checked again. */
  again(due: Due, nowMs: number): void {
    this.#again.set(due.object, { ...due, lookAtMs: nowMs + this.#options.againMs });
  }

  /** A taken object without a report; `isWritten`: no further write is needed until it has one. */
  silent(due: Due, isWritten: boolean): void {
    (isWritten ? this.#unheard : this.#silent).set(due.object, due);
  }

  /** Somebody reports now: what waited for that is due. */
  onHeard(nowMs: number): void {
    for (const lane of [this.#silent, this.#unheard]) {
      for (const due of lane.values()) this.#again.set(due.object, { ...due, lookAtMs: nowMs });
      lane.clear();
    }
  }

  /** At most `limit` of those whose time has come; no lane keeps another from its turn. */
  take(nowMs: number, limit: number): readonly Due[] {
    const { silenceMs } = this.#options;
    const taken: Due[] = [];
    const takeFrom = <T extends Due>(lane: Map<string, T>, isDue: (due: T) => boolean, end: number) => {
      for (const [object, due] of lane) {
        if (taken.length >= end || !isDue(due)) return;
        lane.delete(object);
        taken.push(due);
      }
    };
    const share = Math.ceil(limit / 3);
    takeFrom(this.#again, ({ lookAtMs }) => lookAtMs <= nowMs, share);
    takeFrom(this.#silent, ({ sinceMs }) => sinceMs + silenceMs <= nowMs, 2 * share);
    takeFrom(this.#fresh, () => true, limit);
    takeFrom(this.#again, ({ lookAtMs }) => lookAtMs <= nowMs, limit);
    return taken;
  }

  get #lanes(): readonly ReadonlyMap<string, Due>[] {
    return [this.#fresh, this.#again, this.#silent, this.#unheard];
  }
}
