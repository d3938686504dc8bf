/** Reports what is refused, ignored and in conflict: in the log, the metrics, on the readiness page, in the status of objects. */
import { coalesced, type Gauge, type Logger } from "@flotilla/runtime";
import { ProblemLog, type SourceProblem } from "@flotilla/sources";
import { type IgnoredKind, listIgnored, listProblems } from "../debug/problems.ts";
import type { ConfigMetrics } from "../metrics.ts";
import type { ConfigService } from "../settings.ts";
import type { RunningStatus } from "../status/open-status.ts";
import type { View } from "./view.ts";

export interface ReportParts {
  readonly view: View;
  readonly status: RunningStatus;
  readonly metrics: ConfigMetrics;
}

/** All objects are looked at: once for all changes that come meanwhile, and behind the change itself on its way to proxies. */
const reportAfterMs = 100;

/** Sources have problems while they are opened: the reports begin when all of them are there. */
export class ProblemReports {
  #report: (() => void) | undefined;

  /** Problems may be different now. */
  note(): void {
    this.#report?.();
  }

  begin({ health, log, stop }: ConfigService, { view, status, metrics }: ReportParts): void {
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
    this.#report = coalesced(report, reportAfterMs, stop);
  }
}

/** For the readiness page: the first of them, and how many more there are. */
function refusalText([first, ...others]: readonly SourceProblem[]): string | undefined {
  if (first === undefined) return undefined;
  const more = others.length === 0 ? "" : `, and ${others.length} more on /debug/problems`;
  return `${first.object ?? first.file}: ${[first.field, first.reason].filter(Boolean).join(" ")}${more}`;
}

/** Logs what is refused once when it begins and once when it is over. */
function problemReporter(
  list: () => readonly SourceProblem[],
  refused: Gauge,
  log: Logger,
): () => readonly SourceProblem[] {
  const known = new ProblemLog();
  return () => {
    const problems = list();
    const { appeared, over } = known.update(problems);
    for (const problem of appeared) log.warn("refused", { ...problem });
    for (const { file, object, reason } of over) log.info("no longer refused", { file, object, reason });
    refused.set(problems.length);
    return problems;
  };
}

/** Logs each kind that a source has and the mesh ignores once, with the number of objects then. */
function ignoredReporter(list: () => readonly IgnoredKind[], log: Logger): () => void {
  const logged = new Set<string>();
  return () => {
    for (const { source, apiVersion, kind, count } of list()) {
      const text = `${source} ${apiVersion} ${kind}`;
      if (logged.has(text)) continue;
      logged.add(text);
      log.info("objects of a foreign kind ignored", { source, apiVersion, kind, count });
    }
  };
}
