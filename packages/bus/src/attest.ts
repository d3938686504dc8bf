/** A publisher's word from time to time: what the stream holds is what it told. */
import { delay, type Logger } from "@flotilla/runtime";
import { BusError } from "./errors.ts";
import type { Publisher } from "./publisher.ts";

export interface AttestOptions {
  readonly publisher: Pick<Publisher, "attest">;
  readonly everyMs: number;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Differences that were found and published again. */
  readonly onRepaired: (count: number) => void;
}

/** Runs until `stop` fires. */
export async function attestEvery(options: AttestOptions, stop: AbortSignal): Promise<void> {
  const { publisher, everyMs, log, nowMs, onRepaired } = options;
  let agreedAtMs = nowMs();
  while (!stop.aborted) {
    await delay(everyMs, stop);
    if (stop.aborted) return;
    try {
      const count = await publisher.attest();
      if (count > 0) {
        log.warn("the stream was not as it was told, the differences are published again", {
          count,
          atMostSinceMs: nowMs() - agreedAtMs,
        });
        onRepaired(count);
      }
      agreedAtMs = nowMs();
    } catch (error) {
      if (stop.aborted || (error instanceof BusError && error.code === "BUS_CLOSED")) return;
      log.error("the stream cannot be compared with what was told", { error });
    }
  }
}
