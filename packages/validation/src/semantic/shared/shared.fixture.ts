/** For tests: the findings of one rule, as short texts. */
import type { Problem } from "../../problem.ts";
import type { Field } from "./field.ts";

/** `path reason`, warnings in brackets, of a value at the path `x`. */
export function findings(rule: (value: Field) => readonly Problem[], value: unknown): readonly string[] {
  return rule({ value, path: "x" }).map(({ field, reason, severity }) =>
    severity === "warning" ? `(${field} ${reason})` : `${field} ${reason}`,
  );
}
