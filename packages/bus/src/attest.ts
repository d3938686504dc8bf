/** From time to time a publisher checks that the stream holds what it published. */
import type { Logger } from "@flotilla/runtime";
import { type ComparisonSchedule, compareWhenDue } from "./compare-when-due.ts";
import { BusError } from "./errors.ts";
import type { Publisher } from "./publisher.ts";

/** The publisher, when it compares, and a callback for repaired differences. */
export interface AttestOptions extends Pick<ComparisonSchedule, "bus" | "everyMs"> {
  readonly publisher: Pick<Publisher, "attest">;
  readonly log: Logger;
  readonly nowMs: () => number;
  /** Differences that were found and published again. */
  readonly onRepaired: (count: number) => void;
}

/** Runs until `stop` fires or the bus is closed. */
export async function attestEvery(options: AttestOptions, stop: AbortSignal): Promise<void> {
  const { publisher, log, nowMs, onRepaired } = options;
  const closed = new AbortController();
  let agreedAtMs = nowMs();
  const attest = async (): Promise<boolean> => {
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
      return true;
    } catch (error) {
      if (error instanceof BusError && error.code === "BUS_CLOSED") closed.abort();
      else if (!stop.aborted) log.error("stream cannot be compared with the published values", { error });
      return false;
    }
  };
  await compareWhenDue(options, attest, AbortSignal.any([stop, closed.signal]));
}
