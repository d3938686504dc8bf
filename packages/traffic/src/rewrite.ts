/** The request that a proxy sends on: path, host and headers as its route rewrites them. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { RE2JS } from "re2js";
import type { FullCall } from "./call.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";
import type { Meeting } from "./meet.ts";
import { expressionOf } from "./text-match.ts";

export type Rewritten = Pick<FullCall, "HostHeader" | "Path" | "Headers">;

/** `chosen`: the weighted cluster that takes the request, where the route has several. */
export function rewrittenRequest(
  { call, route, virtualHost, routeConfiguration }: Meeting,
  chosen: JsonObject | undefined,
): Rewritten {
  const action = at(route, "route");
  const host = textAt(chosen, "hostRewriteLiteral") || textAt(action, "hostRewriteLiteral");
  const changes = [chosen, route, virtualHost, routeConfiguration];
  const headers = changes.reduce(withChanges, new Map(Object.entries(call.Headers)));
  // A rule may set the host as a header.
  const asHeader = headers.get("host") ?? headers.get(":authority");
  return {
    HostHeader: host || asHeader || call.HostHeader,
    Path: rewrittenPath(call.Path, route),
    Headers: Object.fromEntries([...headers].filter(([name]) => name !== "host" && name !== ":authority")),
  };
}

function rewrittenPath(whole: string, route: JsonObject | undefined): string {
  const [action, match] = [at(route, "route"), at(route, "match")];
  const [path = "", ...query] = whole.split(/(?=\?)/);
  const prefix = textAt(action, "prefixRewrite");
  if (prefix !== "") return [prefix + path.slice(matchedLength(match, path)), ...query].join("");
  const regex = expressionOf(textAt(action, "regexRewrite", "pattern", "regex"));
  if (at(action, "regexRewrite") === undefined || regex === undefined) return whole;
  const replaced = replaceMatches(regex, path, textAt(action, "regexRewrite", "substitution"));
  return [replaced, ...query].join("");
}

/** `\1` stands for the first group, as in RE2. */
function replaceMatches(expression: RE2JS, text: string, substitution: string): string {
  const matcher = expression.matcher(text);
  let [result, end] = ["", 0];
  while (matcher.find()) {
    const inserted = substitution.replaceAll(/\\([\d\\])/g, (_, group: string) =>
      group === "\\" ? group : Number(group) > matcher.groupCount() ? "" : (matcher.group(Number(group)) ?? ""),
    );
    result += text.slice(end, matcher.start()) + inserted;
    end = matcher.end();
  }
  return result + text.slice(end);
}

/** Of a match by an expression the whole path is replaced. */
function matchedLength(match: JsonValue | undefined, path: string): number {
  const begin = textAt(match, "prefix") || textAt(match, "pathSeparatedPrefix");
  return begin === "" ? path.length : begin.length;
}

function withChanges(before: ReadonlyMap<string, string>, from: JsonObject | undefined): Map<string, string> {
  const headers = new Map(before);
  for (const name of textsAt(from, "requestHeadersToRemove")) headers.delete(name.toLowerCase());
  for (const one of objectsAt(from, "requestHeadersToAdd")) {
    const [name, value] = [textAt(one, "header", "key").toLowerCase(), textAt(one, "header", "value")];
    const known = headers.get(name);
    const action = textAt(one, "appendAction");
    if (action === "ADD_IF_ABSENT" && known !== undefined) continue;
    const appends = action === "" || action === "APPEND_IF_EXISTS_OR_ADD";
    headers.set(name, appends && known !== undefined ? `${known},${value}` : value);
  }
  return headers;
}
