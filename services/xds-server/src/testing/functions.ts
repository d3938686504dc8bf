/** Functions that conformance corpora call directly, since their cases are smaller than a resource. */

export { consistentHashOf } from "../generate/envoy/routes/hash-policy.ts";
export { type ActionContext, destinationCluster, routeAction } from "../generate/envoy/routes/route-action.ts";
export { inUrl, serviceDomains } from "../generate/envoy/routes/route-configuration.ts";
export { isCatchAll } from "../generate/envoy/routes/route-match.ts";
export { claimMatcher } from "../generate/envoy/routes/string-match.ts";
export { virtualServiceRoutes } from "../generate/envoy/routes/virtual-service-route.ts";
export { addedClusters, clusterPatches, matchesCluster, patchCluster } from "../generate/patch/clusters.ts";
export { addedExtensionConfigs } from "../generate/patch/extension-configs.ts";
export { addedListeners, patchListener } from "../generate/patch/listeners.ts";
export { isInContext, type Patch, readPatches } from "../generate/patch/patch.ts";
export { matchesHost, matchesRoutes, routeMatcher } from "../generate/patch/route-match.ts";
export { patchRouteConfiguration, routePatches } from "../generate/patch/routes.ts";
export { ProxyPattern } from "../snapshot/proxy-pattern.ts";
export { conflicts, mergeDelegateRoutes, mergeMatches } from "../snapshot/scope/delegate.ts";
