/** Describes a route for people: the conditions that a request met, and what the route does with it. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { at, objectsAt, textAt } from "./json.ts";
import { percentOf } from "./route.ts";
import { describeText } from "./text-match.ts";

/** One sentence for each condition. */
export function matchFacts(route: JsonObject): readonly string[] {
  const match = at(route, "match");
  return [
    pathFact(match),
    ...objectsAt(match, "headers").map((one) => `Matched: header ${named(one)}.`),
    ...objectsAt(match, "queryParameters").map((one) => `Matched: query parameter ${named(one)}.`),
    ...objectsAt(match, "dynamicMetadata").map((one) => {
      const path = objectsAt(one, "path").map((segment) => textAt(segment, "key"));
      return `Matched: ${path.slice(1).join(".") || "metadata"} of the token.`;
    }),
  ];
}

function pathFact(match: JsonValue | undefined): string {
  const regex = textAt(match, "safeRegex", "regex");
  const [exact, separated, prefix] = ["path", "pathSeparatedPrefix", "prefix"].map((key) => textAt(match, key));
  const folds = at(match, "caseSensitive") === false ? ", whatever its case" : "";
  if (regex !== "") return `Matched: path matches ${regex}.`;
  if (exact) return `Matched: path is ${exact}${folds}.`;
  if (separated) return `Matched: path is ${separated} or below it${folds}.`;
  return prefix === "" || prefix === "/" ? "Matched: any path." : `Matched: path begins with ${prefix}${folds}.`;
}

function named(matcher: JsonObject): string {
  const name = textAt(matcher, "name");
  const isInverted = matcher["invertMatch"] === true;
  const string = at(matcher, "stringMatch");
  if (string !== undefined) return `${name} ${isInverted ? "is not one that " : ""}${describeText(string)}`;
  const range = at(matcher, "rangeMatch");
  if (range !== undefined)
    return `${name} is between ${textAt(range, "start") || "0"} and ${textAt(range, "end") || "0"}`;
  const isThere = (at(matcher, "presentMatch") ?? true) !== isInverted;
  return isThere ? `${name} is there` : `${name} is not there`;
}

/** One sentence for each thing that the route does beside choosing a destination. */
export function actionFacts(route: JsonObject): readonly string[] {
  const action = at(route, "route");
  const timeout = textAt(action, "timeout");
  return [
    timeout !== "" && (timeout === "0s" ? "No timeout." : `Timeout ${timeout}.`),
    retryFact(at(action, "retryPolicy")),
    ...rewriteFacts(action),
    ...faultFacts(route),
    ...objectsAt(action, "requestMirrorPolicies").map(mirrorFact),
    ...objectsAt(action, "hashPolicy").map((policy) => `Endpoints are chosen by a hash of ${hashedBy(policy)}.`),
    ...headerFacts(route),
  ].filter((fact) => fact !== false && fact !== "") as readonly string[];
}

function retryFact(policy: JsonValue | undefined): string {
  if (policy === undefined) return "No retries.";
  const attempts = Number(textAt(policy, "numRetries") || "1");
  const each = textAt(policy, "perTryTimeout");
  const times = `${attempts} ${attempts === 1 ? "retry" : "retries"} on ${textAt(policy, "retryOn")}`;
  return attempts === 0 ? "No retries." : `${times}${each === "" ? "" : `, ${each} each`}.`;
}

function rewriteFacts(action: JsonValue | undefined): readonly string[] {
  const [prefix, host] = [textAt(action, "prefixRewrite"), textAt(action, "hostRewriteLiteral")];
  const regex = at(action, "regexRewrite");
  return [
    ...(prefix === "" ? [] : [`The matched part of the path becomes ${prefix}.`]),
    ...(regex === undefined
      ? []
      : [`In the path ${textAt(regex, "pattern", "regex")} becomes ${textAt(regex, "substitution") || "nothing"}.`]),
    ...(host === "" ? [] : [`The host becomes ${host}.`]),
    ...(at(action, "autoHostRewrite") === true ? ["The host becomes that of the endpoint."] : []),
  ];
}

function faultFacts(route: JsonObject): readonly string[] {
  const fault = at(route, "typedPerFilterConfig", "envoy.filters.http.fault");
  const [delay, abort] = [at(fault, "delay"), at(fault, "abort")];
  return [
    ...(delay === undefined
      ? []
      : [`A fault delays ${percentOf(at(delay, "percentage"))} % of the requests by ${textAt(delay, "fixedDelay")}.`]),
    ...(abort === undefined
      ? []
      : [`A fault aborts ${percentOf(at(abort, "percentage"))} % of the requests with ${abortOf(abort)}.`]),
  ];
}

function abortOf(abort: JsonValue): string {
  return textAt(abort, "httpStatus") || `gRPC status ${textAt(abort, "grpcStatus")}`;
}

/** The status with which a fault answers every request of the route; undefined where it answers some of them, or none. */
export function abortStatus(route: JsonObject): number | undefined {
  const abort = at(route, "typedPerFilterConfig", "envoy.filters.http.fault", "abort");
  if (abort === undefined || percentOf(at(abort, "percentage")) < 100) return undefined;
  // A status of gRPC travels in an answer of HTTP that is well.
  return Number(textAt(abort, "httpStatus") || "200");
}

function mirrorFact(mirror: JsonObject): string {
  const share = at(mirror, "runtimeFraction", "defaultValue");
  const percent = share === undefined ? 100 : percentOf(share);
  return `A copy of ${percent} % of the requests goes to ${textAt(mirror, "cluster")}.`;
}

function hashedBy(policy: JsonObject): string {
  const header = textAt(policy, "header", "headerName");
  if (header !== "") return `header ${header}`;
  const cookie = textAt(policy, "cookie", "name");
  return cookie !== "" ? `cookie ${cookie}` : "the caller's address or a query parameter";
}

function headerFacts(route: JsonObject): readonly string[] {
  const added = objectsAt(route, "requestHeadersToAdd").map((one) => textAt(one, "header", "key"));
  const removed = at(route, "requestHeadersToRemove");
  return [
    ...(added.length === 0 ? [] : [`Sets the request headers ${added.join(", ")}.`]),
    ...(Array.isArray(removed) && removed.length > 0 ? [`Removes the request headers ${removed.join(", ")}.`] : []),
  ];
}
