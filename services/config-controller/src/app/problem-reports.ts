/** Reports what is refused, ignored and in conflict: in the log, the metrics, on the readiness page, in the status of objects. */
import type { SourceProblem } from "@flotilla/sources";
import { listIgnored, listProblems } from "../debug/problems.ts";
import { ignoredReporter, oncePerTurn, problemReporter } from "../debug/report-problems.ts";
import type { ConfigMetrics } from "../metrics.ts";
import type { ConfigService } from "../settings.ts";
import type { RunningStatus } from "../status/open-status.ts";
import type { View } from "./view.ts";

export interface ReportParts {
  readonly view: View;
  readonly status: RunningStatus;
  readonly metrics: ConfigMetrics;
}

/** Sources have problems while they are opened: the reports begin when all of them are there. */
export class ProblemReports {
  #report: (() => void) | undefined;

  /** Problems may be different now. */
  note(): void {
    this.#report?.();
  }

  begin({ health, log }: ConfigService, { view, status, metrics }: ReportParts): void {
    const { sources, store, lastGood } = view;
    const reportRefused = problemReporter(() => listProblems(sources, store), metrics.refused, log);
    const reportIgnored = ignoredReporter(() => listIgnored(sources), log);
    const report = (): void => {
      reportIgnored();
      health.setCondition("refused", refusalText(reportRefused()));
      metrics.conflicts.set(store.conflicts().length);
      status.noteRefused();
      lastGood.note();
    };
    report();
    this.#report = oncePerTurn(report);
  }
}

/** For the readiness page: the first of them, and how many more there are. */
function refusalText([first, ...others]: readonly SourceProblem[]): string | undefined {
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : `, and ${others.length} more on /debug/problems`;
  return `${first.object ?? first.file}: ${[first.field, first.reason].filter(Boolean).join(" ")}${more}`;
}
