/** A virtual host of the mesh's own routes with its routes, encoded: those of a VirtualService, or the one that a service has without. */
import { clusterName } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Route, RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import type { LoadBalancerSettings_ConsistentHashLB } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { DestinationSchema, type HTTPRetry } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type HostAndPort, hostAndPort } from "../../snapshot/row-index.ts";
import { meshGateway } from "../../snapshot/scope/virtual-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type Encoded, encodedElement, encodedFields, sameBytes } from "../encode/encoded.ts";
import { zeroDuration } from "../envoy/duration.ts";
import { hashPolicy } from "../envoy/routes/hash-policy.ts";
import { retryPolicy } from "../envoy/routes/retry.ts";
import { inUrl, virtualHostsField } from "../envoy/routes/route-configuration.ts";
import { sessionFilter } from "../envoy/routes/route-filters.ts";
import { sessionConfig } from "./persistent-session.ts";
import { type HostPlan, hostName, plannedService } from "./planned-host.ts";
import { type Arrival, consistentHashFor, encodedVirtualServiceRoutes, routesKey } from "./virtual-service-routes.ts";

interface HostForm {
  readonly domains: readonly string[];
  readonly arrival: Arrival;
}

/** An element of its route configuration's field. */
export function encodedMeshHost(view: View, plan: HostPlan, { domains, arrival }: HostForm): Encoded {
  const { listenPort, virtualService, countsAttempts } = plan;
  const service = plannedService(view, plan);
  const routes =
    virtualService === undefined
      ? [view.read(encodedServiceRoutes, hostAndPort.write(plan))]
      : Object.values(
          view.read(encodedVirtualServiceRoutes, routesKey(virtualService, listenPort, meshGateway, arrival)),
        );
  const session = service === undefined ? undefined : sessionConfig(view, service.labels);
  const head = create(VirtualHostSchema, { name: hostName(plan).toLowerCase(), domains: [...new Set(domains)] });
  const tail = create(VirtualHostSchema, {
    includeRequestAttemptCount: countsAttempts,
    ...(session && { typedPerFilterConfig: { [sessionFilter]: session } }),
  });
  return encodedElement(virtualHostsField, VirtualHostSchema, [head, ...routes, tail]);
}

export const everyPath = { pathSpecifier: { case: "prefix", value: "/" } } as const;

/** The `routes` field of a virtual host that no VirtualService speaks of. */
const encodedServiceRoutes = query<Uint8Array, HostAndPort>(
  "service-routes",
  (view, argument) => {
    const { hostname, port } = hostAndPort.read(argument);
    // As everywhere in routes, hosts are in lower case. Source: corpus xds, TestMeshNetworking.
    const host = hostname.toLowerCase();
    const hash = consistentHashFor(view, create(DestinationSchema, { host: hostname, port: { number: Number(port) } }));
    const cluster = clusterName("outbound", Number(port), "", host);
    const retries = view.mesh.defaultHttpRetryPolicy;
    const route = serviceRoute({ cluster, operation: `${inUrl(host)}:${port}`, hash, retries });
    return encodedFields(VirtualHostSchema, create(VirtualHostSchema, { routes: [route] }));
  },
  sameBytes,
);

export interface ServiceRouteInputs {
  readonly cluster: string;
  /** `host:port` of the service, for the names of trace spans. */
  readonly operation: string;
  readonly hash: LoadBalancerSettings_ConsistentHashLB | undefined;
  /** The mesh's. */
  readonly retries: HTTPRetry | undefined;
}

/** The one route of a service that no VirtualService speaks of. */
export function serviceRoute({ cluster, operation, hash, retries }: ServiceRouteInputs): Route {
  const policy = hash === undefined ? undefined : hashPolicy(hash);
  const retry = retryPolicy(retries);
  return create(RouteSchema, {
    name: "default",
    match: everyPath,
    decorator: { operation: `${operation}/*` },
    action: {
      case: "route",
      value: {
        clusterSpecifier: { case: "cluster", value: cluster },
        timeout: zeroDuration,
        maxGrpcTimeout: zeroDuration,
        ...(retry && { retryPolicy: retry }),
        ...(policy && { hashPolicy: [policy] }),
      },
    },
  });
}
