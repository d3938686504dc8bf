/** Selects the listeners that need HTTP filters which only some routes of the Gateway API ask for. */
import { type HttpRouteSpec, isMeshParent, isPoolRef, routeHead } from "@flotilla/gateway-api";
import type { Config } from "@flotilla/model";
import type { RowIndex } from "../row-index.ts";
import { query } from "../view.ts";

/** Routes to InferencePools, by `namespace/name` of their Gateways. */
const poolRoutes: RowIndex<HttpRouteSpec> = {
  name: "pool-routes",
  kind: "HTTPRoute",
  keysOf: ({ key, spec }) => {
    const leadsToPool = (spec.rules ?? []).some(({ backendRefs = [] }) => backendRefs.some(isPoolRef));
    if (!leadsToPool) return [];
    const gateways = routeHead(key, spec).parents.filter(({ kind }) => kind === "Gateway");
    return [...new Set(gateways.map(({ namespace, name }) => `${namespace}/${name}`))];
  },
  project: withoutSpec,
};

/** Routes whose requests stay with an endpoint, by whose listeners they are for. */
const sessionRoutes: readonly RowIndex<HttpRouteSpec>[] = (["HTTPRoute", "GRPCRoute"] as const).map((kind) => ({
  name: `session-routes-${kind}`,
  kind,
  keysOf: ({ key, spec }) => {
    if (!(spec.rules ?? []).some(({ sessionPersistence }) => sessionPersistence !== undefined)) return [];
    const places = routeHead(key, spec).parents.map((parent) => (isMeshParent(parent) ? "sidecar" : "router"));
    return [...new Set(places)];
  },
  project: withoutSpec,
}));

export const filterRouteIndexes: readonly RowIndex<HttpRouteSpec>[] = [poolRoutes, ...sessionRoutes];

function withoutSpec({ key }: Config): Config {
  return { key, creationTimeMs: 0, labels: {}, annotations: {}, spec: {} };
}

const gatewayNameLabel = "gateway.networking.k8s.io/gateway-name";

/** True where an endpoint picker sees requests of some route of the proxy's Gateway. */
export const picksEndpoints = query<boolean>("picks-endpoints", (view) => {
  const gateway = view.proxy.label(gatewayNameLabel);
  return gateway !== undefined && view.row(poolRoutes, `${view.proxy.namespace}/${gateway}`).length > 0;
});

export const keepsRouteSessions = query<boolean>("keeps-route-sessions", (view) =>
  sessionRoutes.some((index) => view.row(index, view.proxy.type).length > 0),
);
