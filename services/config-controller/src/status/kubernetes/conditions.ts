/** The status of an object as conditions in Kubernetes, and which of an object's conditions are ours. */
import type { ObjectDistribution } from "../distributions.ts";
import type { Finding, ObjectStatus } from "../object-status.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  /** Kubernetes' generation of the object that it is about. */
  readonly observedGeneration: number;
}

/** `Reconciled` and `PassedAnalysis` are istiod's names for the same. */
export const ownConditions: ReadonlySet<string> = new Set(["Accepted", "PassedAnalysis", "Reconciled"]);

/** Messages are for people: more of them are on the pages. */
const maxFindings = 5;
const maxWords = 300;

/** @param stored generation of the object as it is in Kubernetes: the one that is refused, if one is. */
export function conditionsOf(
  { state, problems, warnings, noEffect, inForce }: ObjectStatus,
  stored: number,
  before: readonly Condition[],
  now: string,
): readonly Condition[] {
  const observedGeneration = state === "refused" ? stored : (inForce?.objectGeneration ?? stored);
  const condition = (type: string, status: Condition["status"], reason: string, message: string): Condition => {
    const known = before.find((one) => one.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime, observedGeneration };
  };
  const accepted =
    state === "accepted"
      ? condition("Accepted", "True", "Valid", "")
      : condition("Accepted", "False", "Invalid", texts(problems));
  if (inForce === undefined) return [accepted];
  const analysed =
    warnings.length === 0
      ? condition("PassedAnalysis", "True", "NoFindings", "")
      : condition("PassedAnalysis", "False", "Warnings", texts(warnings));
  const { status, reason, message } =
    noEffect === undefined
      ? reconciled(inForce.distribution)
      : ({ status: "False", reason: "NoEffect", message: noEffect } as const);
  const isOlder = state === "refused" ? `generation ${inForce.objectGeneration ?? "before"} of it: ` : "";
  return [accepted, analysed, condition("Reconciled", status, reason, `${isOlder}${message}`)];
}

/**
 * The content of conditions, for comparing: equal texts are equal verdicts. Proxies that come and go change no verdict: the numbers are
 * those of when it was reached.
 */
export function verdictOf(conditions: readonly Condition[]): string {
  const parts = conditions.map(({ type, status, reason, observedGeneration, message }) => {
    const shown = type === "Reconciled" && status === "True" ? "" : message;
    return `${type} ${status} ${reason} ${Number(observedGeneration)} ${shown}`;
  });
  return parts.sort().join("\n");
}

function reconciled({ live, concerned, isPrecise, refusals, replicas }: ObjectDistribution) {
  const count = `${live}/${concerned} proxies up to date${isPrecise ? "" : " (of all)"}.`;
  if (replicas === 0) return { status: "Unknown", reason: "NoReport", message: "No xds-server reports." } as const;
  if (refusals.length > 0) {
    const proxies = [...new Set(refusals.map(({ proxy }) => proxy))];
    const [first] = refusals;
    const words = (first?.message ?? "").replaceAll(/\s+/g, " ");
    const shown = words.length > maxWords ? `${words.slice(0, maxWords / 2)} … ${words.slice(-maxWords / 2)}` : words;
    const more = proxies.length > 3 ? ` and ${proxies.length - 3} more` : "";
    const message = `${count} Refused by ${proxies.slice(0, 3).join(", ")}${more}: ${shown}`;
    return { status: "False", reason: "RefusedByProxies", message } as const;
  }
  if (live < concerned) return { status: "False", reason: "Distributing", message: count } as const;
  return { status: "True", reason: "Live", message: count } as const;
}

function texts(findings: readonly Finding[]): string {
  const shown = findings
    .slice(0, maxFindings)
    .map(({ field, reason }) => (field === "" ? reason : `${field}: ${reason}`));
  const more = findings.length > maxFindings ? [`and ${findings.length - maxFindings} more`] : [];
  return [...shown, ...more].join("; ");
}
