/** What the schema of a VirtualService cannot tell, and Envoy would refuse with everything beside it. */
import type { Problem } from "../problem.ts";
import { isObject, type JsonObject } from "../schema/schema.ts";
import { expressionProblem } from "./regular-expression.ts";

export function validateVirtualService({ spec }: JsonObject): readonly Problem[] {
  if (!isObject(spec)) return [];
  return [
    ...each(spec, "http", "spec").flatMap(([route, path]) => [
      ...each(route, "match", path).flatMap(([match, at]) => matchProblems(match, at)),
      ...corsProblems(route["corsPolicy"], `${path}.corsPolicy`),
      ...rewriteProblems(route["rewrite"], `${path}.rewrite`),
      ...weightProblems(route, path),
    ]),
    ...["tcp", "tls"].flatMap((layer) =>
      each(spec, layer, "spec").flatMap(([route, path]) => weightProblems(route, path)),
    ),
  ];
}

function matchProblems(match: JsonObject, path: string): readonly Problem[] {
  const single = ["uri", "scheme", "method", "authority"].flatMap((name) =>
    textMatchProblems(match[name], `${path}.${name}`),
  );
  const named = ["headers", "withoutHeaders", "queryParams"].flatMap((name) => {
    const matches = match[name];
    if (!isObject(matches)) return [];
    return Object.entries(matches).flatMap(([key, value]) => textMatchProblems(value, `${path}.${name}[${key}]`));
  });
  return [...single, ...named];
}

function corsProblems(policy: unknown, path: string): readonly Problem[] {
  if (!isObject(policy)) return [];
  return each(policy, "allowOrigins", path).flatMap(([origin, at]) => textMatchProblems(origin, at));
}

function rewriteProblems(rewrite: unknown, path: string): readonly Problem[] {
  const expression = isObject(rewrite) ? rewrite["uriRegexRewrite"] : undefined;
  return isObject(expression) ? expressionProblems(expression["match"], `${path}.uriRegexRewrite.match`) : [];
}

function textMatchProblems(match: unknown, path: string): readonly Problem[] {
  return isObject(match) ? expressionProblems(match["regex"], `${path}.regex`) : [];
}

function expressionProblems(expression: unknown, field: string): readonly Problem[] {
  const reason = typeof expression === "string" ? expressionProblem(expression) : undefined;
  return reason === undefined ? [] : [{ field, reason, severity: "error" }];
}

/** Weights are shares of their sum, whatever it is; of several destinations one must get something. */
function weightProblems(route: JsonObject, path: string): readonly Problem[] {
  const weights = each(route, "route", path).map(([{ weight }]) => (typeof weight === "number" ? weight : 0));
  if (weights.length < 2 || weights.some((weight) => weight > 0)) return [];
  return [{ field: `${path}.route`, reason: "no destination has a weight above 0", severity: "error" }];
}

/** The objects of a list, each with its path. */
function each(parent: JsonObject, name: string, path: string): readonly (readonly [JsonObject, string])[] {
  const list = parent[name];
  if (!Array.isArray(list)) return [];
  return list.flatMap((value: unknown, index) =>
    isObject(value) ? [[value, `${path}.${name}[${index}]`] as const] : [],
  );
}
