/** When a process compares what it holds with what the bus has. */
import { Wakeup } from "@flotilla/runtime";
import type { Bus } from "./bus.ts";

/** The bus, and the interval in milliseconds. */
export interface ComparisonSchedule {
  readonly bus: Pick<Bus, "onState" | "state">;
  readonly everyMs: number;
  /** Compares once at the beginning, too. */
  readonly atStart?: boolean;
}

/** Servers that have just come back may not answer yet. */
const againMs = 1_000;

/**
 * Compares whenever the servers of the bus come back, as they may have less than they acknowledged, and from time to time, until `stop` fires.
 * @param compare resolves to false where it failed, and is called again soon
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
