/** Records of certificates that the bus has lost. */
import type { Bus, KeyValue } from "@flotilla/bus";
import { type Logger, Wakeup } from "@flotilla/runtime";
import type { GatheredEvidence } from "./gathered-evidence.ts";

export interface EvidenceComparison {
  readonly bus: Pick<Bus, "onState" | "state">;
  readonly values: KeyValue;
  readonly evidence: Pick<GatheredEvidence, "compare">;
  readonly log: Logger;
}

const compareMs = 60_000;
/** Servers that have just come back may not answer yet. */
const againMs = 1_000;

/**
 * Whenever the servers of the bus come back, and from time to time, until `stop` fires: they may have lost what they had acknowledged, which is
 * written again.
 */
export async function compareEvidence(options: EvidenceComparison, stop: AbortSignal): Promise<void> {
  const { bus, values, evidence, log } = options;
  const wakeup = new Wakeup();
  // Certificates issued before this process ran may not be stored.
  wakeup.wake();
  const end = bus.onState(({ connected }) => connected && wakeup.wake());
  let waitMs = compareMs;
  try {
    while (!stop.aborted) {
      await wakeup.wait(stop, waitMs);
      if (stop.aborted || !bus.state.connected) continue;
      const missing = await evidence.compare(values).catch((error: unknown) => {
        log.warn("recorded and stored certificates not compared, trying again later", { error });
        return undefined;
      });
      waitMs = missing === undefined ? againMs : compareMs;
      if (missing) log.error("the bus lost records of certificates, which are written again", { missing });
    }
  } finally {
    end();
  }
}
