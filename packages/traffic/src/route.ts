/** Selects the virtual host and route of a route configuration for a request. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { FullCall } from "./call.ts";
import { at, objectsAt, textAt, textsAt } from "./json.ts";
import { every, isDoubt, type Judgement } from "./judgement.ts";
import { type Metadata, matchesExpression, matchesMetadata, matchesNamed } from "./text-match.ts";

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

/** A route that may take a request, and what that depends on. */
export interface DoubtfulRoute {
  readonly route: JsonObject;
  readonly doubt: string;
}

export interface RouteMatch {
  /** The first route that takes the request. */
  readonly route: JsonObject | undefined;
  /** Routes before it that may take it. */
  readonly doubtful: readonly DoubtfulRoute[];
}

/** `metadata`: what filters before the routes have written. */
export function matchRoute(virtualHost: JsonObject, call: FullCall, metadata: Metadata = new Map()): RouteMatch {
  const doubtful: DoubtfulRoute[] = [];
  const values = valuesOf(call);
  for (const route of objectsAt(virtualHost, "routes")) {
    const takes = takesRequest(at(route, "match"), values, metadata);
    if (isDoubt(takes)) doubtful.push({ route, doubt: takes.doubt });
    else if (takes) return { route, doubtful };
  }
  return { route: undefined, doubtful };
}

interface RequestValues {
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly parameters: ReadonlyMap<string, string>;
}

function valuesOf({ Path, Method, HostHeader, Headers }: FullCall): RequestValues {
  const [path = "", query = ""] = Path.split("?");
  const own = { ":method": Method, ":authority": HostHeader, ":scheme": "http", ":path": Path };
  return {
    path,
    headers: new Map(Object.entries({ ...own, ...Headers })),
    parameters: new Map(new URLSearchParams(query)),
  };
}

function takesRequest(
  match: JsonValue | undefined,
  { path, headers, parameters }: RequestValues,
  metadata: Metadata,
): Judgement {
  return every([
    takesPath(match, path),
    ...objectsAt(match, "headers").map((one) => matchesNamed(one, headers.get(textAt(one, "name").toLowerCase()))),
    ...objectsAt(match, "queryParameters").map((one) => matchesNamed(one, parameters.get(textAt(one, "name")))),
    at(match, "grpc") === undefined || (headers.get("content-type") ?? "").startsWith("application/grpc"),
    ...objectsAt(match, "dynamicMetadata").map((one) => matchesMetadata(one, metadata)),
    ...others(match),
  ]);
}

/** Conditions that a request alone does not answer. */
function others(match: JsonValue | undefined): readonly Judgement[] {
  const share = at(match, "runtimeFraction", "defaultValue");
  const isOpen = (key: string) => at(match, key) !== undefined;
  return [
    ...(share === undefined ? [] : [{ doubt: `a share of ${percentOf(share)} %` }]),
    ...(isOpen("tlsContext") ? [{ doubt: "the certificate of the caller" }] : []),
    ...(objectsAt(match, "filterState").length > 0 ? [{ doubt: "state that filters keep" }] : []),
    ...(objectsAt(match, "cookies").length > 0 ? [{ doubt: "its cookies" }] : []),
  ];
}

/** `envoy.type.v3.FractionalPercent` or `Percent`. */
export function percentOf(share: JsonValue | undefined): number {
  const denominators: ReadonlyMap<string, number> = new Map([
    ["TEN_THOUSAND", 10_000],
    ["MILLION", 1_000_000],
  ]);
  const value = textAt(share, "value");
  if (value !== "") return Number(value);
  const of = denominators.get(textAt(share, "denominator")) ?? 100;
  return (Number(textAt(share, "numerator") || "0") / of) * 100;
}

/** `caseSensitive: false` holds for exact paths and prefixes, not for expressions. */
function takesPath(match: JsonValue | undefined, path: string): Judgement {
  const regex = textAt(match, "safeRegex", "regex");
  if (regex !== "") return matchesExpression(regex, path);
  for (const kind of ["pathMatchPolicy", "connectMatcher"])
    if (at(match, kind) !== undefined) return { doubt: `a match of paths by ${kind}` };
  const folded = (text: string) => (at(match, "caseSensitive") === false ? text.toLowerCase() : text);
  const [exact, separated, prefix] = ["path", "pathSeparatedPrefix", "prefix"].map((key) => folded(textAt(match, key)));
  const asked = folded(path);
  if (exact) return asked === exact;
  if (separated) return asked === separated || asked.startsWith(`${separated}/`);
  return asked.startsWith(prefix ?? "");
}
