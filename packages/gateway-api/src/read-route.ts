/** The spec of a route as the rest may count on it, whatever a source has let through. */
import type { Config, ConfigKey } from "@flotilla/model";
import { create, encode } from "@flotilla/proto";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { grpcRoutes, httpRoutes } from "./http-rules.ts";
import { tcpRoutes, tlsRoutes } from "./layer4-rules.ts";
import { routeHead } from "./route-head.ts";
import { type HttpRouteSpec, type Layer4RouteSpec, routeKinds } from "./route-spec.ts";

const kinds: ReadonlySet<string> = new Set(routeKinds);

export function isRoute({ kind }: ConfigKey): boolean {
  return kinds.has(kind);
}

/**
 * Null counts as absent, as everywhere in Kubernetes. Reading it once shows that it can be read.
 * @throws when the spec is not of its kind's form.
 */
export function readRoute(config: Config): Config {
  const spec = withoutNulls(config.spec ?? {}) as HttpRouteSpec;
  const { key } = config;
  const head = routeHead(key, spec);
  if (head.parents.length > 0 && head.problem === undefined) tryRules(key, spec);
  return { ...config, spec };
}

function tryRules(key: ConfigKey, spec: HttpRouteSpec): void {
  const context = { namespace: key.namespace, domain: "", hasService: () => true };
  const layer4 = spec as Layer4RouteSpec;
  encode(
    VirtualServiceSchema,
    create(VirtualServiceSchema, {
      ...(key.kind === "HTTPRoute" && { http: [...httpRoutes(key, spec, 0, context)] }),
      ...(key.kind === "GRPCRoute" && { http: [...grpcRoutes(key, layer4, 0, context)] }),
      ...((key.kind === "TCPRoute" || key.kind === "UDPRoute") && { tcp: [...tcpRoutes(layer4, 0, context)] }),
      ...(key.kind === "TLSRoute" && { tls: [...tlsRoutes(layer4, { hosts: [], port: 0, isMesh: true }, context)] }),
    }),
  );
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(entries.map(([name, one]) => [name, withoutNulls(one)]));
}
