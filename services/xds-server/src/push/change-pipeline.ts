/**
 * From groups of changes as they arrive to batches that are applied. Urgent changes overtake waiting ones, and so do workloads, as far as
 * that cannot be noticed: an overtaken change of the same key is dropped, and the position only moves on when everything up to it has been
 * applied.
 */
import type { Cause } from "@flotilla/model";
import type { PushClock, Urgency } from "./push-queue.ts";

export interface OfferedGroup<Change> {
  readonly changes: readonly Change[];
  /** Place in the fleet's sequence. */
  readonly position: number;
  readonly cause: Cause;
}

export interface Batch<Change> {
  readonly changes: readonly Change[];
  /** The groups that the changes came in, in order. */
  readonly groups: readonly OfferedGroup<Change>[];
  /** Everything up to it is applied with this batch and those before. */
  readonly position: number;
  readonly urgency: Urgency;
  /** Oldest event by kind of change, milliseconds since the epoch, for kinds whose event is known. */
  readonly eventTimesMs: ReadonlyMap<string, number>;
  /** How long the first of the batch has waited. */
  readonly waitedMs: number;
}

export interface PipelineOptions<Change> {
  readonly clock: PushClock;
  /** Returns whether it concerns any stream. Must not throw. */
  readonly apply: (batch: Batch<Change>) => boolean;
  readonly isBusy: () => boolean;
  /** True while streams have yet to get their turn since the last batch: with another one in between no two of them would share a message. */
  readonly isQueued: () => boolean;
  readonly minGapMs: number;
  readonly maxGapMs: number;
  readonly urgentGapMs: number;
  readonly keyOf: (change: Change) => string;
  readonly kindOf: (change: Change) => string;
  readonly dependsOn: (change: Change) => Dependence;
  /** True where the facts that "deciding" stands for may depend on it. */
  readonly isDeciding: (change: Change) => boolean;
}

/**
 * Earlier changes of other keys that decide on the effect of a change: none (it overtakes where it is urgent), the deciding ones (it
 * overtakes all others), or all of them.
 */
export type Dependence = "nothing" | "deciding" | "everything";

interface Waiting<Change> extends OfferedGroup<Change> {
  readonly arrival: number;
  readonly arrivedAt: number;
}

export class ChangePipeline<Change> implements Disposable {
  readonly #options: PipelineOptions<Change>;
  readonly #bulk: Debouncer<Waiting<Change>>;
  readonly #urgent: Debouncer<Waiting<Change>>;
  /** Keys of urgent changes that were applied while bulk waited, with their arrival. */
  readonly #overtaken = new Map<string, number>();
  #arrivals = 0;
  #offered = 0;
  #applied = 0;
  /** A batch of bulk is on its way: it waits no more, and is not applied yet. */
  #isBulkLeaving = false;
  /** Among what waits in bulk there is something deciding. */
  #isDecided = true;

  constructor(options: PipelineOptions<Change>) {
    const { clock, isBusy, isQueued, minGapMs, maxGapMs, urgentGapMs } = options;
    this.#options = options;
    this.#bulk = new Debouncer({
      ...{ clock, isBusy, minGapMs, maxGapMs, urgentGapMs, gapPerWork: 3 },
      flush: (all) => this.#applyAll(all),
    });
    const limits = {
      ...{ minGapMs: urgentGapMs, maxGapMs: Math.max(maxOvertakingGapMs, urgentGapMs), urgentGapMs },
      // With three times the work a process that is busy for a third of its time waits as long as it may. A batch costs a message to each
      // ztunnel, whatever is in it: a gap of the same length as its work would leave no time for anything else.
      gapPerWork: 2,
    };
    this.#urgent = new Debouncer({ clock, isBusy: isQueued, ...limits, flush: (all) => this.#overtake(all) });
  }

  offer(group: OfferedGroup<Change>): void {
    const { clock, isDeciding } = this.#options;
    this.#offered = Math.max(this.#offered, group.position);
    const waiting = { ...group, arrival: ++this.#arrivals, arrivedAt: clock.now() };
    const urgency = urgencyOf(group);
    const overtakes = this.#overtakes(group, urgency);
    if (!overtakes && group.changes.some(isDeciding)) this.#isDecided = false;
    (overtakes ? this.#urgent : this.#bulk).offer(waiting, urgency);
  }

  #overtakes({ changes }: OfferedGroup<Change>, urgency: Urgency): boolean {
    const dependences = new Set(changes.map(this.#options.dependsOn));
    if (dependences.has("everything")) return false;
    return dependences.has("deciding") ? this.#isDecided : urgency === "urgent";
  }

  /** Applies what waits now. */
  flush(): void {
    this.#urgent.flushNow();
    this.#bulk.flushNow();
  }

  [Symbol.dispose](): void {
    this.#bulk[Symbol.dispose]();
    this.#urgent[Symbol.dispose]();
  }

  #overtake(groups: readonly Waiting<Change>[]): boolean {
    const isAlone = this.#bulk.waiting === 0 && !this.#isBulkLeaving;
    if (!isAlone) {
      const { keyOf } = this.#options;
      for (const { changes, arrival } of groups)
        for (const change of changes) this.#overtaken.set(keyOf(change), arrival);
    }
    return this.#apply(groups, isAlone ? this.#offered : this.#applied, "urgent");
  }

  #applyAll(groups: readonly Waiting<Change>[]): boolean {
    // Urgent changes that still wait lie within the positions of the batch.
    this.#isBulkLeaving = true;
    this.#urgent.flushNow();
    this.#isBulkLeaving = false;
    const isUrgent = groups.some((group) => urgencyOf(group) === "urgent");
    const left = groups.map((group) => this.#withoutOvertaken(group));
    this.#overtaken.clear();
    this.#isDecided = true;
    return this.#apply(left, this.#offered, isUrgent ? "urgent" : "normal");
  }

  #withoutOvertaken(group: Waiting<Change>): Waiting<Change> {
    if (this.#overtaken.size === 0) return group;
    const { keyOf } = this.#options;
    const isCurrent = (change: Change) => (this.#overtaken.get(keyOf(change)) ?? 0) < group.arrival;
    return { ...group, changes: group.changes.filter(isCurrent) };
  }

  #apply(groups: readonly Waiting<Change>[], position: number, urgency: Urgency): boolean {
    const { clock, apply, kindOf } = this.#options;
    this.#applied = Math.max(this.#applied, position);
    const eventTimesMs = new Map<string, number>();
    for (const { changes, cause } of groups) {
      const { eventTimeMs } = cause;
      if (eventTimeMs <= 0) continue;
      for (const kind of new Set(changes.map(kindOf)))
        eventTimesMs.set(kind, Math.min(eventTimesMs.get(kind) ?? eventTimeMs, eventTimeMs));
    }
    const waitedMs = clock.now() - Math.min(...groups.map(({ arrivedAt }) => arrivedAt));
    const changes = groups.flatMap((group) => group.changes);
    return apply({ changes, groups, position, urgency, eventTimesMs, waitedMs });
  }
}

function urgencyOf({ cause }: { readonly cause: Cause }): Urgency {
  return cause.urgent === true ? "urgent" : "normal";
}

/**
 * When changes are applied. In a quiet mesh the first one leaves at once; those that follow within the gap
 * merge and leave at its end, unless that batch concerned no stream, as the first half of a change in two parts may; under lasting churn the gap
 * is a multiple of the work that a batch makes, and while streams still work off the last batch it grows, up to a limit.
 * An urgent change takes everything before it along, so that nothing is ever applied out of order.
 */
export interface DebounceOptions<Item> {
  readonly clock: PushClock;
  /** Gets everything that was offered since the last call, in order. Returns whether it concerns any stream. Must not throw. */
  readonly flush: (items: readonly Item[], urgency: Urgency) => boolean;
  /** True while streams still wait for the batch that was flushed before. */
  readonly isBusy: () => boolean;
  readonly minGapMs: number;
  /** No change waits longer than this. */
  readonly maxGapMs: number;
  readonly urgentGapMs: number;
  /** Under lasting churn: the gap over the work of the process since the last batch left. */
  readonly gapPerWork: number;
}

/** A workload has to be known before its first request times out, or goes another way. */
const maxOvertakingGapMs = 100;

export const defaultDebounce = { minGapMs: 10, maxGapMs: 1_000, urgentGapMs: 5 } as const;

export class Debouncer<Item> implements Disposable {
  readonly #options: DebounceOptions<Item>;
  #items: Item[] = [];
  #urgency: Urgency = "normal";
  #firstAt = 0;
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** The work of the process when the last batch left. */
  #workedMs = 0;
  #gapMs: number;
  #isDelayed = false;
  #timer: { cancel(): void } | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(options: DebounceOptions<Item>) {
    this.#options = options;
    this.#gapMs = options.minGapMs;
  }

  offer(item: Item, urgency: Urgency): void {
    const now = this.#options.clock.now();
    if (this.#items.length === 0) this.#firstAt = now;
    this.#items.push(item);
    if (urgency === "urgent") this.#urgency = "urgent";
    this.#plan(now);
  }

  /** Waiting changes are dropped: their owner ends. */
  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#items = [];
  }

  /** Flushes waiting changes now. */
  flushNow(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (this.#items.length > 0) this.#flush(this.#options.clock.now());
  }

  get waiting(): number {
    return this.#items.length;
  }

  #plan(now: number): void {
    const { clock, urgentGapMs, minGapMs, maxGapMs } = this.#options;
    // A mesh that was quiet for longer than the gap starts anew.
    if (now - this.#flushedAt >= this.#gapMs * 2 && this.#items.length === 1) this.#gapMs = minGapMs;
    const gapMs = this.#urgency === "urgent" ? urgentGapMs : this.#gapMs;
    const at = Math.max(now, Math.min(this.#flushedAt + gapMs, this.#firstAt + maxGapMs));
    if (at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    // Even without a wait not at once: changes of one read of a socket belong together.
    if (at <= now) {
      const timer = new Cancellable();
      this.#timer = timer;
      clock.soon(() => {
        if (!timer.isCancelled) this.#onTime();
      });
      return;
    }
    this.#isDelayed = true;
    this.#timer = clock.after(at - now, () => this.#onTime());
  }

  #onTime(): void {
    const { clock, isBusy, maxGapMs } = this.#options;
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = clock.now();
    const hasTime = this.#urgency === "normal" && now < this.#firstAt + maxGapMs;
    if (hasTime && isBusy()) {
      this.#isDelayed = true;
      this.#gapMs = Math.min(this.#gapMs * 2, maxGapMs);
      this.#flushLater(now);
      return;
    }
    this.#flush(now);
  }

  /** The streams are still at the last batch: look again in a while, but not too late. */
  #flushLater(now: number): void {
    const { clock, maxGapMs, minGapMs } = this.#options;
    const at = Math.min(now + Math.max(minGapMs, this.#gapMs / 4), this.#firstAt + maxGapMs);
    this.#timerAt = at;
    this.#timer = clock.after(at - now, () => this.#onTime());
  }

  #flush(now: number): void {
    const { clock, flush, minGapMs, maxGapMs, gapPerWork } = this.#options;
    const items = this.#items;
    const urgency = this.#urgency;
    const workedMs = clock.worked();
    // A batch that had to wait indicates churn, one that did not indicates quiet.
    const wantedMs = this.#isDelayed ? (workedMs - this.#workedMs) * gapPerWork : 0;
    this.#gapMs = Math.min(Math.max(wantedMs, minGapMs), maxGapMs);
    this.#workedMs = workedMs;
    this.#items = [];
    this.#isDelayed = false;
    this.#urgency = "normal";
    const before = this.#flushedAt;
    this.#flushedAt = now;
    if (!flush(items, urgency)) this.#flushedAt = before;
  }
}

class Cancellable {
  isCancelled = false;

  cancel(): void {
    this.isCancelled = true;
  }
}
