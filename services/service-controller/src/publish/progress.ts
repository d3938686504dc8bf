/** Publishes, for config-controller, how far the configuration has been applied, and that what follows from it is published. */
import type { Bus, Publisher } from "@flotilla/bus";
import { encodeProgress, progressBucket, progressKey } from "@flotilla/model";
import { delay, type Logger, Wakeup } from "@flotilla/runtime";

export interface ProgressOptions {
  readonly bus: Bus;
  readonly publisher: Pick<Publisher, "lastSequence">;
  readonly log: Logger;
}

/** At least, between two reports. */
const everyMs = 100;

export class Progress {
  readonly #changed = new Wakeup();
  #read = 0;

  /** All that follows from the configuration up to this place has been handed to the publisher, and is safe. */
  note(read: number): void {
    if (read <= this.#read) return;
    this.#read = read;
    this.#changed.wake();
  }

  /** Runs until `stop` fires: while we publish. */
  async report({ bus, publisher, log }: ProgressOptions, stop: AbortSignal): Promise<void> {
    const values = await bus.keyValue(progressBucket);
    const wake = () => this.#changed.wake();
    using ends = new DisposableStack();
    ends.defer(bus.onEpoch(wake));
    ends.defer(bus.onState(wake));
    let last = "";
    while (!stop.aborted) {
      const progress = { epoch: bus.epoch, read: this.#read, published: publisher.lastSequence };
      // The published sequence beside it changes with each endpoint: readers need the first one that holds this position.
      const text = `${progress.epoch} ${progress.read}`;
      if (text !== last && bus.state.connected) {
        try {
          await values.put(progressKey, encodeProgress(progress));
          last = text;
        } catch (error) {
          log.warn("progress cannot be published", { error });
          wake();
        }
      }
      await delay(everyMs, stop);
      await this.#changed.wait(stop);
    }
  }
}
