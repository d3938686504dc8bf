/** Selects the virtual host and route of a route configuration for a request. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { FullCall } from "./call.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";

/** Exact domains first, then the longest suffix, the longest prefix, and at last the host that takes all. */
export function matchVirtualHost(configuration: JsonObject | undefined, hostHeader: string): JsonObject | undefined {
  const ignoresPort = at(configuration, "ignorePortInHostMatching") === true;
  const host = (ignoresPort ? hostHeader.replace(/:\d+$/, "") : hostHeader).toLowerCase();
  let best: { readonly host: JsonObject; readonly score: number } | undefined;
  for (const candidate of objectsAt(configuration, "virtualHosts")) {
    for (const domain of textsAt(candidate, "domains")) {
      const score = domainScore(domain.toLowerCase(), host);
      if (score > 0 && (best === undefined || score > best.score)) best = { host: candidate, score };
    }
  }
  return best?.host;
}

function domainScore(domain: string, host: string): number {
  if (domain === host) return 30_000;
  if (domain === "*") return 1;
  if (domain.startsWith("*"))
    return host.endsWith(domain.slice(1)) && host.length >= domain.length ? 20_000 + domain.length : 0;
  if (domain.endsWith("*")) return host.startsWith(domain.slice(0, -1)) ? 10_000 + domain.length : 0;
  return 0;
}

/** The first route that takes the request. */
export function matchRoute(virtualHost: JsonObject, call: FullCall): JsonObject | undefined {
  const [path = "", query = ""] = call.Path.split("?");
  const headers: Readonly<Record<string, string>> = {
    ":method": call.Method,
    ":authority": call.HostHeader,
    ":scheme": "http",
    ...call.Headers,
  };
  const parameters = Object.fromEntries(new URLSearchParams(query));
  return objectsAt(virtualHost, "routes").find((route) => {
    const match = at(route, "match");
    return (
      takesPath(match, path) &&
      objectsAt(match, "headers").every((matcher) => takesValue(matcher, headers[textAt(matcher, "name")])) &&
      objectsAt(match, "queryParameters").every((matcher) => takesValue(matcher, parameters[textAt(matcher, "name")]))
    );
  });
}

/** Applies a matcher of a header or a query parameter as Envoy does. */
function takesValue(matcher: JsonObject, value: string | undefined): boolean {
  const present = value ?? (matcher["treatMissingHeaderAsEmpty"] === true ? "" : undefined);
  const string = at(matcher, "stringMatch");
  const takes = string === undefined ? value !== undefined : present !== undefined && takesText(string, present);
  // An absent header matches nothing, also not the opposite, unless it is asked for or counts as empty.
  if (matcher["invertMatch"] !== true) return takes;
  return string === undefined || present !== undefined ? !takes : false;
}

function takesText(matcher: JsonValue, text: string): boolean {
  const [exact, prefix, suffix] = ["exact", "prefix", "suffix"].map((key) => at(matcher, key));
  if (typeof exact === "string") return text === exact;
  if (typeof prefix === "string") return text.startsWith(prefix);
  if (typeof suffix === "string") return text.endsWith(suffix);
  return new RegExp(`^(?:${textAt(matcher, "safeRegex", "regex")})$`).test(text);
}

/** `caseSensitive: false` holds for exact paths and prefixes, not for expressions. */
function takesPath(match: JsonValue | undefined, path: string): boolean {
  const regex = textAt(match, "safeRegex", "regex");
  if (regex !== "") return new RegExp(`^(?:${regex})$`).test(path);
  const folded = (text: string) => (at(match, "caseSensitive") === false ? text.toLowerCase() : text);
  const [exact, separated, prefix] = ["path", "pathSeparatedPrefix", "prefix"].map((key) => folded(textAt(match, key)));
  const asked = folded(path);
  if (exact) return asked === exact;
  if (separated) return asked === separated || asked.startsWith(`${separated}/`);
  return asked.startsWith(prefix ?? "");
}
