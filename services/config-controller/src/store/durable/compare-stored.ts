/**
 * What was acknowledged over the API is kept nowhere but on the bus: what the bus holds is compared with what this replica holds,
 * whenever its servers come back and from time to time.
 */
import type { Bus } from "@flotilla/bus";
import { StoreError } from "@flotilla/model";
import { type Health, type Logger, Wakeup } from "@flotilla/runtime";
import type { DurableStore } from "./durable-store.ts";

export interface CompareStoredOptions {
  readonly durable: Pick<DurableStore, "compare">;
  readonly bus: Pick<Bus, "onState" | "state">;
  readonly everyMs: number;
  readonly health: Pick<Health, "setCondition">;
  readonly log: Logger;
  readonly nowMs: () => number;
}

const condition = "lost writes";
/** For how long a loss stays on the readiness page. */
const reportedMs = 3_600_000;
const namedObjects = 5;

/** Runs until `stop` fires. */
export async function compareStored(options: CompareStoredOptions, stop: AbortSignal): Promise<void> {
  const { bus, everyMs, health, nowMs } = options;
  const wakeup = new Wakeup();
  const end = bus.onState(({ connected }) => connected && wakeup.wake());
  let reportedAtMs: number | undefined;
  try {
    while (!stop.aborted) {
      await wakeup.wait(stop, everyMs);
      if (stop.aborted || !bus.state.connected) continue;
      const lost = await compare(options);
      if (lost.length > 0) {
        reportedAtMs = nowMs();
        health.setCondition(condition, lossText(lost, reportedAtMs));
      } else if (reportedAtMs !== undefined && nowMs() - reportedAtMs > reportedMs) {
        reportedAtMs = undefined;
        health.setCondition(condition, undefined);
      }
    }
  } finally {
    end();
  }
}

async function compare({ durable, log }: CompareStoredOptions): Promise<readonly string[]> {
  try {
    return await durable.compare();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.warn("what is stored cannot be compared with what is held, trying again later", { error });
    return [];
  }
}

function lossText(objects: readonly string[], atMs: number): string {
  const more = objects.length > namedObjects ? ` and ${objects.length - namedObjects} more` : "";
  const names = objects.slice(0, namedObjects).join(", ");
  return `the bus lost what it had acknowledged, written again at ${new Date(atMs).toISOString()}: ${names}${more}`;
}
