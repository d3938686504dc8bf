/** Publishes, for config-controller, how far the configuration has been applied, and that what follows from it is published. */
import type { Bus, Publisher } from "@flotilla/bus";
import { encodeProgress, progressBucket, progressKey } from "@flotilla/model";
import { delay, type Logger } from "@flotilla/runtime";

export interface ProgressOptions {
  readonly bus: Bus;
  readonly publisher: Pick<Publisher, "lastSequence">;
  readonly log: Logger;
}

const everyMs = 100;

export class Progress {
  #read = 0;

  /** All that follows from the configuration up to this place has been handed to the publisher, and is safe. */
  note(read: number): void {
    this.#read = Math.max(this.#read, read);
  }

  /** Runs until `stop` fires: while we publish. */
  async report({ bus, publisher, log }: ProgressOptions, stop: AbortSignal): Promise<void> {
    const values = await bus.keyValue(progressBucket);
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
        }
      }
      await delay(everyMs, stop);
    }
  }
}
