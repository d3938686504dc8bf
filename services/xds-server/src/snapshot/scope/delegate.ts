/**
 * Routes of a delegate in the place of the root's route that names it: the delegate narrows the root's
 * match and inherits what it does not set itself.
 */
import { ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type HTTPMatchRequest,
  HTTPMatchRequestSchema,
  type HTTPRoute,
  HTTPRouteSchema,
  type StringMatch,
} from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";

/** Routes whose match cannot be met together with the root's are left out. */
export function mergeDelegateRoutes(root: HTTPRoute, routes: readonly HTTPRoute[]): readonly HTTPRoute[] {
  return routes.flatMap((route) => {
    const match = mergeMatches(root.match, route.match);
    return match === undefined ? [] : [mergeRoute(root, route, match)];
  });
}

function mergeRoute(root: HTTPRoute, route: HTTPRoute, match: readonly HTTPMatchRequest[]): HTTPRoute {
  const hasOwnTarget = route.directResponse !== undefined || route.redirect !== undefined;
  return create(HTTPRouteSchema, {
    ...route,
    match: [...match],
    name: joinNames(root.name, route.name),
    rewrite: route.rewrite ?? root.rewrite,
    directResponse: route.directResponse ?? (hasOwnTarget || route.route.length > 0 ? undefined : root.directResponse),
    timeout: route.timeout ?? root.timeout,
    retries: route.retries ?? root.retries,
    fault: route.fault ?? root.fault,
    mirror: route.mirror ?? root.mirror,
    mirrorPercent: route.mirrorPercent ?? root.mirrorPercent,
    mirrorPercentage: route.mirrorPercentage ?? root.mirrorPercentage,
    mirrors: route.mirrors.length > 0 ? route.mirrors : root.mirrors,
    corsPolicy: route.corsPolicy ?? root.corsPolicy,
    headers: route.headers ?? root.headers,
  });
}

function joinNames(root: string, leaf: string): string {
  return root === "" || leaf === "" ? root + leaf : `${root}-${leaf}`;
}

/** Every pair that can be met; undefined when one side of the delegate can be met with none of the root's. */
export function mergeMatches(
  roots: readonly HTTPMatchRequest[],
  leaves: readonly HTTPMatchRequest[],
): readonly HTTPMatchRequest[] | undefined {
  if (roots.length === 0) return leaves;
  if (leaves.length === 0) return roots;
  const merged: HTTPMatchRequest[] = [];
  for (const leaf of leaves) {
    const possible = roots.filter((root) => !conflicts(root, leaf));
    if (possible.length === 0) return undefined;
    merged.push(...possible.map((root) => mergeMatch(root, leaf)));
  }
  return merged;
}

function mergeMatch(root: HTTPMatchRequest, leaf: HTTPMatchRequest): HTTPMatchRequest {
  return create(HTTPMatchRequestSchema, {
    ...leaf,
    name: joinNames(root.name, leaf.name),
    uri: leaf.uri ?? root.uri,
    scheme: leaf.scheme ?? root.scheme,
    method: leaf.method ?? root.method,
    authority: leaf.authority ?? root.authority,
    headers: { ...root.headers, ...leaf.headers },
    withoutHeaders: { ...root.withoutHeaders, ...leaf.withoutHeaders },
    queryParams: { ...root.queryParams, ...leaf.queryParams },
    port: leaf.port || root.port,
    sourceLabels: { ...root.sourceLabels, ...leaf.sourceLabels },
    sourceNamespace: leaf.sourceNamespace || root.sourceNamespace,
    gateways: leaf.gateways.length > 0 ? leaf.gateways : root.gateways,
    statPrefix: leaf.statPrefix || root.statPrefix,
  });
}

export function conflicts(root: HTTPMatchRequest, leaf: HTTPMatchRequest): boolean {
  return [
    textsConflict(root.uri, leaf.uri),
    textsConflict(root.scheme, leaf.scheme),
    textsConflict(root.method, leaf.method),
    textsConflict(root.authority, leaf.authority),
    mapsConflict(root.headers, leaf.headers),
    mapsConflict(root.withoutHeaders, leaf.withoutHeaders),
    mapsConflict(root.queryParams, leaf.queryParams),
    root.ignoreUriCase !== leaf.ignoreUriCase,
    root.port > 0 && leaf.port > 0 && root.port !== leaf.port,
    Object.entries(root.sourceLabels).some(([key, value]) => (ownValue(leaf.sourceLabels, key) ?? value) !== value),
    root.sourceNamespace !== "" && leaf.sourceNamespace !== "" && root.sourceNamespace !== leaf.sourceNamespace,
    root.gateways.length > 0 && leaf.gateways.some((gateway) => !root.gateways.includes(gateway)),
  ].includes(true);
}

function mapsConflict(
  root: Readonly<Record<string, StringMatch>>,
  leaf: Readonly<Record<string, StringMatch>>,
): boolean {
  return Object.entries(root).some(([key, match]) => textsConflict(match, ownValue(leaf, key)));
}

/** A regular expression cannot be compared with anything; a prefix can only be made longer. */
function textsConflict(root: StringMatch | undefined, leaf: StringMatch | undefined): boolean {
  const [outer, inner] = [root?.matchType, leaf?.matchType];
  if (outer?.value === undefined || inner?.value === undefined) return false;
  if (outer.case === "regex" || inner.case === "regex") return true;
  if (outer.case === "exact") return inner.case === "prefix" || outer.value !== inner.value;
  return !inner.value.startsWith(outer.value);
}
