export { type BackendTlsSpec, backendTlsRules, isIgnoredPolicy, parentsAnnotation } from "./backend-tls.ts";
export type { RouteContext } from "./backends.ts";
export {
  builtInClasses,
  type GatewayClassRules,
  type GatewayClassSettings,
  rulesOfController,
} from "./gateway-classes.ts";
export { type MeshParent, type MeshRouteHead, meshParents, meshRouteHead } from "./mesh-route-head.ts";
export { isRoute, readRoute } from "./read-route.ts";
export { type HttpRouteSpec, type RouteKind, routeKinds } from "./route-spec.ts";
export {
  hasGatewaySemantics,
  planRouteVirtualServices,
  type RouteSelection,
  type RouteVirtualService,
  routeName,
  routesBehind,
  routeVirtualServiceConfig,
} from "./route-virtual-services.ts";
