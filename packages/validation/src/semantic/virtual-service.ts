/** What the schema of a VirtualService cannot express, and Envoy would refuse with everything beside it. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { each, expressionProblem, hostLengthProblems, hostListProblems, listOf, refuse } from "./checks.ts";
import { headerNameProblems, headerProblems, lineProblems } from "./http-headers.ts";

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

/** Envoy adds weights up in 32 bits. */
const maxTotalWeight = 4_294_967_295;

/** Where routes send traffic: somewhere, and by shares that can be added up. */
function destinationProblems(route: JsonObject, path: string): readonly Problem[] {
  const destinations = each(route, "route", path);
  return [
    ...destinations.flatMap(([one, at]) => hostProblems(one["destination"], `${at}.destination`)),
    ...hostProblems(route["mirror"], `${path}.mirror`),
    ...each(route, "mirrors", path).flatMap(([one, at]) => hostProblems(one["destination"], `${at}.destination`)),
    ...weightProblems(
      destinations.map(([{ weight }]) => (typeof weight === "number" ? weight : 0)),
      `${path}.route`,
    ),
  ];
}

function hostProblems(destination: unknown, path: string): readonly Problem[] {
  if (!isObject(destination)) return [];
  if ((destination["host"] ?? "") === "") return [refuse(`${path}.host`, "a destination has a host")];
  return hostLengthProblems(destination["host"], `${path}.host`);
}

/** Weights are shares of their sum, whatever it is; of several destinations one must get something. */
function weightProblems(weights: readonly number[], path: string): readonly Problem[] {
  const negative = weights.findIndex((weight) => weight < 0);
  if (negative >= 0) return [refuse(`${path}[${negative}].weight`, `weight ${weights[negative]} < 0`)];
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total > maxTotalWeight) return [refuse(path, `the weights make ${total}, more than ${maxTotalWeight}`)];
  return weights.length > 1 && total === 0 ? [refuse(path, "no destination has a weight above 0")] : [];
}

/** What a route answers itself: direct responses, injected aborts, redirects. */
function answerProblems(route: JsonObject, path: string): readonly Problem[] {
  const { directResponse, fault, redirect } = route;
  const abort = isObject(fault) ? fault["abort"] : undefined;
  return [
    ...(isObject(directResponse) ? statusProblems(directResponse["status"] ?? 0, `${path}.directResponse.status`) : []),
    ...(isObject(abort) ? statusProblems(abort["httpStatus"] ?? 200, `${path}.fault.abort.httpStatus`) : []),
    ...(isObject(redirect) ? redirectProblems(redirect, `${path}.redirect`) : []),
  ];
}

function statusProblems(status: unknown, field: string): readonly Problem[] {
  if (typeof status !== "number" || (status >= 200 && status <= 599)) return [];
  return [refuse(field, `HTTP status ${status} is not in range 200-599`)];
}

const redirectCodes: readonly unknown[] = [undefined, 0, 301, 302, 303, 307, 308];
const targets = ["uri", "prefixRewrite", "authority", "scheme", "port", "derivePort"];

function redirectProblems(redirect: JsonObject, path: string): readonly Problem[] {
  const { redirectCode } = redirect;
  return [
    ...(targets.some((name) => ownValue(redirect, name) !== undefined && ownValue(redirect, name) !== "")
      ? []
      : [refuse(path, "must specify URI, authority, scheme, or port")]),
    ...(redirectCodes.includes(redirectCode)
      ? []
      : [refuse(`${path}.redirectCode`, `${redirectCode} is none of 301, 302, 303, 307, 308`)]),
    ...["uri", "authority", "prefixRewrite"].flatMap((name) =>
      lineProblems(ownValue(redirect, name), `${path}.${name}`),
    ),
  ];
}
