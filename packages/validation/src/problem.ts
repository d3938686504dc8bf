/** Results of validation. */

export type Severity = "error" | "warning";

/** A finding of validation. */
export interface Problem {
  /** Path within the object: `spec.http[0].route[1].weight`; "" when it concerns the object as a whole. */
  readonly field: string;
  /** Completes the sentence that begins with the field. */
  readonly reason: string;
  /** Errors refuse the object, warnings are shown to its writer. */
  readonly severity: Severity;
  /** For warnings of routes that no request meets: analysis has messages of their own for them. */
  readonly rule?: "unused-route" | "unmet-match";
}

/** True where one of the findings refuses the object. */
export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

/** `spec.hosts: Required value`. */
export function problemText({ field, reason }: Problem): string {
  return field === "" ? reason : `${field}: ${reason}`;
}
