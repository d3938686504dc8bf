/**
 * The order in which the rules of all routes of a host are tried, most specific first: exact paths, prefixes, regular
 * expressions, any path; longer paths first; then by method, headers and query parameters. Each has at most one match.
 */
import type { HTTPMatchRequest, HTTPRoute } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

export function inOrder(routes: readonly HTTPRoute[]): readonly HTTPRoute[] {
  return routes
    .map((route) => ({ route, rank: rankOf(route.match[0]) }))
    .sort((a, b) => compareRanks(a.rank, b.rank))
    .map(({ route }) => route);
}

/** Higher numbers first, compared from the left. */
function rankOf(match: HTTPMatchRequest | undefined): readonly number[] {
  if (match === undefined) return [0, 0, 0, 0, 0];
  const { uri, method, headers, queryParams } = match;
  return [
    ...pathRank(uri?.matchType),
    method === undefined ? 0 : 1,
    Object.keys(headers).length,
    Object.keys(queryParams).length,
  ];
}

function pathRank(path: NonNullable<HTTPMatchRequest["uri"]>["matchType"] | undefined): readonly [number, number] {
  if (path?.value === undefined) return [0, 0];
  if (path.case === "exact") return [3, path.value.length];
  // A slash at its end makes no prefix more specific: it ends at path segments anyway.
  if (path.case === "prefix") return [2, Math.max(1, path.value.replace(/\/$/, "").length)];
  return [1, path.value.length];
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [index, rank] of a.entries()) {
    const difference = (b[index] ?? 0) - rank;
    if (difference !== 0) return difference;
  }
  return 0;
}
