/** Expressions that Envoy matches with: RE2, which lacks what backtracking engines add. */
import { RE2JS } from "re2js";

/** Why an expression does not compile; undefined when it does. */
export function expressionProblem(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `is no regular expression of RE2: ${why}`;
  }
}
