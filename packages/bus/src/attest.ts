/** From time to time a publisher checks that the stream holds what it published. */
import { type Logger, Wakeup } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";
import { BusError } from "./errors.ts";
import type { Publisher } from "./publisher.ts";

/** The publisher, the interval in milliseconds, and a callback for repaired differences. */
export interface AttestOptions {
  readonly bus: Pick<Bus, "onState">;
  readonly publisher: Pick<Publisher, "attest">;
  readonly everyMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Differences that were found and published again. */
  readonly onRepaired: (count: number) => void;
}

/** Servers that have just come back may not answer yet. */
const againMs = 1_000;

/** Runs until `stop` fires. Servers that come back may have less than they acknowledged: they are compared with at once. */
export async function attestEvery(options: AttestOptions, stop: AbortSignal): Promise<void> {
  const wakeup = new Wakeup();
  const end = options.bus.onState(({ connected }) => connected && wakeup.wake());
  try {
    await attestWhenDue(options, wakeup, stop);
  } finally {
    end();
  }
}

async function attestWhenDue(options: AttestOptions, wakeup: Wakeup, stop: AbortSignal): Promise<void> {
  const { publisher, everyMs, log, nowMs, onRepaired } = options;
  let agreedAtMs = nowMs();
  let waitMs = everyMs;
  while (!stop.aborted) {
    await wakeup.wait(stop, waitMs);
    if (stop.aborted) return;
    waitMs = everyMs;
    try {
      const count = await publisher.attest();
      if (count > 0) {
        log.warn("digest mismatch in the stream, differences published again", {
          count,
          atMostSinceMs: nowMs() - agreedAtMs,
        });
        onRepaired(count);
      }
      agreedAtMs = nowMs();
    } catch (error) {
      if (stop.aborted || (error instanceof BusError && error.code === "BUS_CLOSED")) return;
      log.error("stream cannot be compared with the published values", { error });
      waitMs = Math.min(againMs, everyMs);
    }
  }
}
