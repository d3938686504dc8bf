/** Checks that several kinds share: walking objects of unknown shape, lengths of host names, regular expressions. */
import { isObject, ownValue } from "@flotilla/model";
import { RE2JS } from "re2js";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";

/** The objects of a list, each with its path. */
export function each(
  parent: JsonObject,
  name: string,
  path: string,
): readonly (readonly [value: JsonObject, path: string])[] {
  return listOf(ownValue(parent, name)).flatMap((value, index) =>
    isObject(value) ? [[value, `${path}.${name}[${index}]`] as const] : [],
  );
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The texts of a list, each with its path. */
export function eachText(
  parent: JsonObject,
  name: string,
  path: string,
): readonly (readonly [text: string, path: string])[] {
  return listOf(ownValue(parent, name)).flatMap((value, index) =>
    typeof value === "string" ? [[value, `${path}.${name}[${index}]`] as const] : [],
  );
}

export function refuse(field: string, reason: string): Problem {
  return { field, reason, severity: "error" };
}

const maxHostLength = 253;
const maxLabelLength = 63;

/**
 * Bounds of host names (RFC 1035), which no schema of a kind states: names become subjects, keys, clusters and domains. The
 * hosts of a list.
 */
export function hostListProblems(parent: JsonObject, name: string, path: string): readonly Problem[] {
  return eachText(parent, name, path).flatMap(([host, at]) => hostLengthProblems(host, at));
}

/** Nothing for what is no text. A namespace before the host, as in `shop/reviews.example.com`, counts with the host. */
export function hostLengthProblems(host: unknown, path: string): readonly Problem[] {
  if (typeof host !== "string") return [];
  if (host.length > maxHostLength)
    return [refuse(path, `a host has at most ${maxHostLength} characters, this one has ${host.length}`)];
  const label = host.split(/[./]/).find((one) => one.length > maxLabelLength);
  if (label === undefined) return [];
  return [refuse(path, `a label of a host has at most ${maxLabelLength} characters, "${label}" has ${label.length}`)];
}

/**
 * Expressions that Envoy matches with: RE2, which lacks what backtracking engines add. Why an expression does not compile;
 * undefined when it does.
 */
export function expressionProblem(expression: string): string | undefined {
  try {
    RE2JS.compile(expression);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `is no regular expression of RE2: ${why}`;
  }
}
