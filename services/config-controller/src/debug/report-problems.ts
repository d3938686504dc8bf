/** Says in the log and in a metric what is refused, once when it begins and once when it is over. */
import type { Gauge, Logger } from "@flotilla/runtime";
import { ProblemLog, type SourceProblem } from "@flotilla/sources";
import type { IgnoredKind } from "./problems.ts";

/** Calls `work` soon, and once for however many calls come until then: a list that is read may refuse thousands of objects. */
export function oncePerTurn(work: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      work();
    });
  };
}

export function problemReporter(
  list: () => readonly SourceProblem[],
  refused: Gauge,
  log: Logger,
): () => readonly SourceProblem[] {
  const known = new ProblemLog();
  return () => {
    const problems = list();
    const { appeared, over } = known.update(problems);
    for (const problem of appeared) log.warn("refused", { ...problem });
    for (const { file, object, reason } of over) log.info("refusal is over", { file, object, reason });
    refused.set(problems.length);
    return problems;
  };
}

/** Logs each kind that a source has and the mesh ignores once, with the number of objects then. */
export function ignoredReporter(list: () => readonly IgnoredKind[], log: Logger): () => void {
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
