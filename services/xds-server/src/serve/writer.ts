/** Writes one message at a time: a client that does not read costs one, and is closed when it has taken nothing for too long. */
import type { Logger } from "@flotilla/runtime";
import type { StreamLimits, Wire } from "./stream-context.ts";
import type { StreamMetrics } from "./stream-metrics.ts";

export interface WriterOptions {
  readonly wire: Wire;
  readonly limits: Pick<StreamLimits, "stuckMs">;
  readonly metrics: Pick<StreamMetrics, "sendTime" | "closedStuck">;
  readonly log: Logger;
  readonly now: () => number;
  readonly onStuck: () => void;
  /** The message cannot leave any more. */
  readonly onFailed: (reason: string) => void;
  /** The message has left, or never will. */
  readonly onDone: () => void;
}

export class Writer {
  readonly #options: WriterOptions;
  #isBusy = false;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Resolves when the message has left; never rejects. */
  async write(frame: Buffer): Promise<void> {
    const { wire, limits, metrics, log, now, onStuck, onFailed, onDone } = this.#options;
    this.#isBusy = true;
    const startedAt = now();
    const stuck = setTimeout(() => {
      metrics.closedStuck();
      log.warn("closed, as the client takes nothing", { afterMs: limits.stuckMs });
      onStuck();
      // It would not read an end either.
      wire.cutConnection();
    }, limits.stuckMs);
    try {
      await wire.write(frame);
      metrics.sendTime((now() - startedAt) / 1000);
    } catch (error) {
      onFailed(error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(stuck);
      this.#isBusy = false;
    }
    onDone();
  }
}
