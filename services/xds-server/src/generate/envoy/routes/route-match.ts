/** Conditions on a request for a route of a VirtualService. */
import { compareText } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch,
  RouteMatchSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { HTTPMatchRequest, StringMatch } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { claimMatcher, isClaim, matchesAnything, stringMatcher } from "./string-match.ts";

/** Without a match the route takes every request. */
export function routeMatch(match: HTTPMatchRequest | undefined, hasSegmentPrefixes = false): RouteMatch {
  if (match === undefined) return create(RouteMatchSchema, { pathSpecifier: { case: "prefix", value: "/" } });
  const [headers, withoutHeaders] = [entriesOf(match.headers), entriesOf(match.withoutHeaders)];
  const plain = [
    ...headers.filter(([name]) => !isClaim(name)).map(([name, value]) => headerMatcher(name, value)),
    ...withoutHeaders.filter(([name]) => !isClaim(name)).map(([name, value]) => withoutHeader(name, value)),
  ].sort((a, b) => compareText(a.name, b.name));
  return create(RouteMatchSchema, {
    pathSpecifier: pathSpecifier(match.uri, hasSegmentPrefixes),
    caseSensitive: !match.ignoreUriCase,
    headers: [...plain, ...pseudoHeaders(match)],
    queryParameters: entriesOf(match.queryParams).map(([name, value]) => queryParameter(name, value)),
    dynamicMetadata: [
      ...headers.flatMap(([name, value]) => claimMatcher(name, value, false) ?? []),
      ...withoutHeaders.flatMap(([name, value]) => claimMatcher(name, value, true) ?? []),
    ],
  });
}

/** A route after which no other of the virtual host can be reached. */
export function isCatchAll({ pathSpecifier, headers, queryParameters, dynamicMetadata }: RouteMatch): boolean {
  const isEveryPath =
    ((pathSpecifier.case === "prefix" || pathSpecifier.case === "pathSeparatedPrefix") &&
      pathSpecifier.value === "/") ||
    (pathSpecifier.case === "safeRegex" && pathSpecifier.value.regex === ".*");
  return isEveryPath && headers.length + queryParameters.length + dynamicMetadata.length === 0;
}

function pathSpecifier(uri: StringMatch | undefined, hasSegmentPrefixes: boolean): RouteMatch["pathSpecifier"] {
  const match = uri?.matchType;
  if (match?.case === "exact") return { case: "path", value: match.value };
  if (match?.case === "prefix") {
    const path = hasSegmentPrefixes ? match.value.replace(/\/$/, "") : "";
    return path === "" ? { case: "prefix", value: match.value } : { case: "pathSeparatedPrefix", value: path };
  }
  const matcher = match?.case === "regex" && uri !== undefined ? stringMatcher(uri)?.matchPattern : undefined;
  return matcher?.case === "safeRegex" ? matcher : { case: "prefix", value: "/" };
}

function headerMatcher(name: string, match: StringMatch): HeaderMatcher {
  const matcher = matchesAnything(match) ? undefined : stringMatcher(match);
  return create(HeaderMatcherSchema, {
    name,
    headerMatchSpecifier:
      matcher === undefined ? { case: "presentMatch", value: true } : { case: "stringMatch", value: matcher },
  });
}

/** A request without the header passes too, unless only its presence is asked about. */
function withoutHeader(name: string, match: StringMatch): HeaderMatcher {
  const matcher = headerMatcher(name, match);
  matcher.invertMatch = true;
  matcher.treatMissingHeaderAsEmpty = matcher.headerMatchSpecifier.case !== "presentMatch";
  return matcher;
}

function pseudoHeaders({ method, authority, scheme }: HTTPMatchRequest): readonly HeaderMatcher[] {
  const pairs = [
    [":method", method],
    [":authority", authority],
    [":scheme", scheme],
  ] as const;
  return pairs.flatMap(([name, match]) => (match === undefined ? [] : [headerMatcher(name, match)]));
}

function queryParameter(name: string, match: StringMatch): QueryParameterMatcher {
  const matcher = matchesAnything(match) ? undefined : stringMatcher(match);
  return create(QueryParameterMatcherSchema, {
    name,
    queryParameterMatchSpecifier:
      matcher === undefined ? { case: "presentMatch", value: true } : { case: "stringMatch", value: matcher },
  });
}

function entriesOf(matches: Readonly<Record<string, StringMatch>>): readonly (readonly [string, StringMatch])[] {
  return Object.entries(matches).sort(([a], [b]) => compareText(a, b));
}
