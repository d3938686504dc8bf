/** What the schema of a VirtualService cannot tell, and Envoy would refuse with everything beside it. */
import { ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { isObject, type JsonObject } from "../schema/schema.ts";
import { destinationProblems } from "./destinations.ts";
import { hostListProblems } from "./hosts.ts";
import { answerProblems } from "./http-answers.ts";
import { headerNameProblems, headerProblems, lineProblems } from "./http-headers.ts";
import { each, listOf, refuse } from "./path.ts";
import { expressionProblem } from "./regular-expression.ts";

export function validateVirtualService({ spec }: JsonObject): readonly Problem[] {
  if (!isObject(spec)) return [];
  return [
    ...hostListProblems(spec, "hosts", "spec"),
    ...each(spec, "http", "spec").flatMap(([route, path]) => httpProblems(route, path)),
    ...["tcp", "tls"].flatMap((layer) =>
      each(spec, layer, "spec").flatMap(([route, path]) => [
        ...(listOf(route["route"]).length === 0 ? [refuse(`${path}.route`, "a destination is required")] : []),
        ...destinationProblems(route, path),
      ]),
    ),
  ];
}

const actions = ["redirect", "directResponse", "delegate"];

function httpProblems(route: JsonObject, path: string): readonly Problem[] {
  const acts = listOf(route["route"]).length > 0 || actions.some((name) => ownValue(route, name) !== undefined);
  return [
    ...each(route, "match", path).flatMap(([match, at]) => matchProblems(match, at)),
    ...(acts ? [] : [refuse(path, "HTTP route, redirect or direct_response is required")]),
    ...corsProblems(route["corsPolicy"], `${path}.corsPolicy`),
    ...rewriteProblems(route["rewrite"], `${path}.rewrite`),
    ...headerProblems(route["headers"], `${path}.headers`),
    ...each(route, "route", path).flatMap(([one, at]) => headerProblems(one["headers"], `${at}.headers`)),
    ...answerProblems(route, path),
    ...destinationProblems(route, path),
  ];
}

function matchProblems(match: JsonObject, path: string): readonly Problem[] {
  const single = ["uri", "scheme", "method", "authority"].flatMap((name) =>
    textMatchProblems(ownValue(match, name), `${path}.${name}`),
  );
  const uri = match["uri"];
  if (isObject(uri)) single.push(...emptyProblems(uri, ["regex"], `${path}.uri`));
  const named = ["headers", "withoutHeaders", "queryParams"].flatMap((name) => {
    const matches = ownValue(match, name);
    if (!isObject(matches)) return [];
    return Object.entries(matches).flatMap(([key, value]) => [
      ...headerNameProblems(key, `${path}.${name}[${key}]`),
      ...textMatchProblems(value, `${path}.${name}[${key}]`),
      ...emptyProblems(value, ["prefix"], `${path}.${name}[${key}]`),
    ]);
  });
  return [...single, ...named];
}

function corsProblems(policy: unknown, path: string): readonly Problem[] {
  if (!isObject(policy)) return [];
  return each(policy, "allowOrigins", path).flatMap(([origin, at]) => [
    ...textMatchProblems(origin, at),
    ...emptyProblems(origin, ["prefix", "regex"], at),
  ]);
}

function rewriteProblems(rewrite: unknown, path: string): readonly Problem[] {
  if (!isObject(rewrite)) return [];
  const expression = rewrite["uriRegexRewrite"];
  return [
    ...["uri", "authority"].flatMap((name) => lineProblems(ownValue(rewrite, name), `${path}.${name}`)),
    ...(isObject(expression) ? expressionProblems(expression["match"], `${path}.uriRegexRewrite.match`) : []),
    ...emptyProblems(expression, ["match"], `${path}.uriRegexRewrite`),
  ];
}

/** Envoy takes these for a mistake. */
function emptyProblems(match: unknown, names: readonly string[], path: string): readonly Problem[] {
  if (!isObject(match)) return [];
  return names
    .filter((name) => ownValue(match, name) === "")
    .map((name) => refuse(`${path}.${name}`, "must not be empty"));
}

function textMatchProblems(match: unknown, path: string): readonly Problem[] {
  return isObject(match) ? expressionProblems(match["regex"], `${path}.regex`) : [];
}

function expressionProblems(expression: unknown, field: string): readonly Problem[] {
  const reason = typeof expression === "string" ? expressionProblem(expression) : undefined;
  return reason === undefined ? [] : [refuse(field, reason)];
}
