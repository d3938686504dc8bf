/** Writes one message at a time: a client that does not read costs one, and is closed when it has taken nothing for too long. */
import type { RawCall } from "@flotilla/raw-grpc";
import { Deadlines, systemClock } from "../push/push-queue.ts";
import type { StreamMetrics } from "./stream-metrics.ts";

/** What a stream needs of its call. */
export type Wire = Pick<RawCall, "peer" | "write" | "end" | "cutConnection">;

export interface WriterOptions {
  readonly wire: Wire;
  /** Of all writers of a server. */
  readonly deadlines: WriteDeadlines;
  readonly metrics: Pick<StreamMetrics, "sendTime">;
  readonly now: () => number;
  /** The client takes nothing. */
  readonly onStuck: () => void;
  /** The message cannot leave any more. */
  readonly onFailed: (reason: string) => void;
  /** The message has left, or never will. */
  readonly onDone: () => void;
}

export type WriteDeadlines = Deadlines<Writer>;

export function writeDeadlines(stuckMs: number): WriteDeadlines {
  return new Deadlines({ clock: systemClock, limitMs: stuckMs, onLate: (writer) => writer.giveUp() });
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

  /** `left` is called when the message has left, or never will. */
  write(frame: Buffer, left: () => void): void {
    const { wire, deadlines, metrics, now, onFailed, onDone } = this.#options;
    this.#isBusy = true;
    const startedAt = now();
    deadlines.begin(this);
    wire.write(frame, (error) => {
      deadlines.done(this);
      this.#isBusy = false;
      left();
      if (error === undefined) metrics.sendTime((now() - startedAt) / 1000);
      else onFailed(error.message);
      onDone();
    });
  }

  giveUp(): void {
    const { wire, onStuck } = this.#options;
    onStuck();
    // It would not read an end either.
    wire.cutConnection();
  }
}
