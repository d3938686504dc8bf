/**
 * Values that are kept on the bus alone, as objects written over the API and the history: the bus is compared with this replica's copy
 * whenever its servers come back and from time to time. A loss stands on the readiness page by name.
 */
import { type ComparisonSchedule, compareWhenDue } from "@flotilla/bus";
import { StoreError } from "@flotilla/model";
import type { Health, Logger } from "@flotilla/runtime";

export interface CompareStoredOptions extends Pick<ComparisonSchedule, "bus" | "everyMs"> {
  /** Names what was lost. @throws StoreError STORE_AWAY */
  readonly stored: { compare(): Promise<readonly string[]> };
  /** On the readiness page. */
  readonly condition: string;
  /** The message on the consequences of losing the named ones. */
  readonly lossText: (names: string) => string;
  readonly health: Pick<Health, "setCondition">;
  readonly log: Logger;
  readonly nowMs: () => number;
}

/** For how long a loss stays on the readiness page. */
const reportedMs = 3_600_000;
const namedAtMost = 5;

/** Runs until `stop` fires. */
export async function compareStored(options: CompareStoredOptions, stop: AbortSignal): Promise<void> {
  const { health, nowMs, condition } = options;
  let reportedAtMs: number | undefined;
  let named: readonly string[] = [];
  const report = async (): Promise<boolean> => {
    const lost = await compare(options);
    if (lost === undefined) return false;
    if (lost.length > 0) {
      reportedAtMs = nowMs();
      named = [...new Set([...lost, ...named])];
      const text = `${options.lossText(namesOf(named))} (noticed at ${new Date(reportedAtMs).toISOString()})`;
      health.setCondition(condition, text);
    } else if (reportedAtMs !== undefined && nowMs() - reportedAtMs > reportedMs) {
      reportedAtMs = undefined;
      named = [];
      health.setCondition(condition, undefined);
    }
    return true;
  };
  await compareWhenDue(options, report, stop);
}

/** Undefined if the comparison failed. */
async function compare({ stored, log }: CompareStoredOptions): Promise<readonly string[] | undefined> {
  try {
    return await stored.compare();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    log.warn("stored and held objects not compared, trying again later", { error });
    return undefined;
  }
}

function namesOf(lost: readonly string[]): string {
  const more = lost.length > namedAtMost ? ` and ${lost.length - namedAtMost} more` : "";
  return lost.slice(0, namedAtMost).join(", ") + more;
}
