/** The schedule on which a process compares its state with the bus. */
import { Wakeup } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";

/** The bus, and the interval in milliseconds. */
export interface ComparisonSchedule {
  readonly bus: Pick<Bus, "onState" | "state">;
  readonly everyMs: number;
  /** Compares once at the beginning, too. */
  readonly atStart?: boolean;
}

/** Delay before a failed comparison is retried: servers that have just restarted may not answer yet. */
const againMs = 1_000;

/**
 * Compares at intervals and after each reconnect to the bus, as its servers may have lost acknowledged writes, until `stop` fires.
 * @param compare resolves to false if it failed; it is retried soon then
 */
export async function compareWhenDue(
  { bus, everyMs, atStart = false }: ComparisonSchedule,
  compare: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<void> {
  const wakeup = new Wakeup();
  if (atStart) wakeup.wake();
  const end = bus.onState(({ connected }) => connected && wakeup.wake());
  let waitMs = everyMs;
  try {
    while (!stop.aborted) {
      await wakeup.wait(stop, waitMs);
      if (stop.aborted || !bus.state.connected) continue;
      waitMs = (await compare()) ? everyMs : Math.min(againMs, everyMs);
    }
  } finally {
    end();
  }
}
