/** Matches of texts: exact, by prefix, by an expression of RE2. */
import { RE2JS } from "re2js";
import type { Problem } from "../../problem.ts";
import { type Field, field, isSet, refuseIf, textOf } from "./field.ts";

/** Beyond it, compiling an expression and matching with it cost too much in proxies. */
const maxExpressionLength = 1024;

/**
 * Expressions that Envoy matches with: RE2, which lacks what backtracking engines add. Why an expression does not compile;
 * undefined when it does.
 */
export function expressionReason(expression: string): string | undefined {
  if (expression.length > maxExpressionLength)
    return `an expression has at most ${maxExpressionLength} characters, this one has ${expression.length}`;
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `is no regular expression of RE2: ${why}`;
  }
}

/** Nothing for an absent expression; an empty one is a mistake. */
export function expressionProblems(expression: Field): readonly Problem[] {
  if (!isSet(expression)) return [];
  if (textOf(expression) === "") return refuseIf(true, expression, "must not be empty");
  const reason = expressionReason(textOf(expression));
  return refuseIf(reason !== undefined, expression, reason ?? "");
}

/** A match of a text; Envoy takes an empty prefix for a mistake, save of a path. */
export function textMatchProblems(match: Field, allowsEmptyPrefix = false): readonly Problem[] {
  const prefix = field(match, "prefix");
  return [
    ...refuseIf(isSet(prefix) && textOf(prefix) === "" && !allowsEmptyPrefix, prefix, "must not be empty"),
    ...expressionProblems(field(match, "regex")),
  ];
}
