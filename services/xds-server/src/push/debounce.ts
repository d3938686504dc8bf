/**
 * When changes are applied. In a quiet mesh the first one leaves at once; those that follow within the gap
 * merge and leave at its end, unless what left concerned nobody, as the first half of a change in two parts may; under lasting churn, or while streams still work off the last batch, the gap grows up to a limit.
 * An urgent change takes everything before it along, so that nothing is ever applied out of order.
 */
import type { PushClock } from "./clock.ts";
import type { Urgency } from "./push-queue.ts";

export interface DebounceOptions<Item> {
  readonly clock: PushClock;
  /** Gets everything that was offered since the last call, in order. Returns whether it concerns any stream. Must not throw. */
  readonly flush: (items: readonly Item[], urgency: Urgency) => boolean;
  /** Whether streams still wait for what was flushed before. */
  readonly isBusy: () => boolean;
  readonly minGapMs: number;
  /** No change waits longer than this. */
  readonly maxGapMs: number;
  readonly urgentGapMs: number;
}

export const defaultDebounce = { minGapMs: 10, maxGapMs: 1_000, urgentGapMs: 5 } as const;

export class Debouncer<Item> implements Disposable {
  readonly #options: DebounceOptions<Item>;
  #items: Item[] = [];
  #urgency: Urgency = "normal";
  #firstAt = 0;
  #flushedAt = Number.NEGATIVE_INFINITY;
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

  /** What waits is dropped: its owner ends. */
  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#items = [];
  }

  /** What waits leaves now. */
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
    // Even without a wait not at once: what arrives in the same read of a socket belongs together.
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
    const { flush, minGapMs, maxGapMs } = this.#options;
    const items = this.#items;
    const urgency = this.#urgency;
    // Whether this batch had to wait tells churn from quiet.
    this.#gapMs = this.#isDelayed ? Math.min(this.#gapMs * 2, maxGapMs) : minGapMs;
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
