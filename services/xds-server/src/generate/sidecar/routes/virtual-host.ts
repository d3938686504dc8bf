/** One virtual host of a sidecar's route configuration with its routes, encoded; proxies that see it alike share it. */
import { clusterName } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Route, RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type HostAndPort, hostAndPort } from "../../../snapshot/keys.ts";
import { meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { query } from "../../../snapshot/view.ts";
import { type Encoded, sameBytes, sameVersion } from "../../encode/encoded.ts";
import { encodedElement, encodedFields } from "../../encode/message.ts";
import { zeroDuration } from "../../envoy/duration.ts";
import { inUrl } from "../../envoy/routes/domains.ts";
import { hashPolicy } from "../../envoy/routes/hash-policy.ts";
import { retryPolicy } from "../../envoy/routes/retry.ts";
import { virtualHostsField } from "../../envoy/routes/route-configuration.ts";
import { sessionFilter } from "../../envoy/routes/route-filters.ts";
import { sessionConfig } from "../../select/persistent-session.ts";
import { consistentHashFor } from "../../select/traffic-policy.ts";
import { encodedVirtualServiceRoutes, routesKey } from "../../select/virtual-service-routes.ts";
import { hostDomains, hostName, type PlanText, parsePlan, plannedService } from "./planned-host.ts";

/** By the text of its plan: an element of its route configuration's field. */
export const encodedVirtualHost = query<Encoded, PlanText>(
  "virtual-host",
  (view, text) => {
    const plan = parsePlan(text);
    const { listenPort, virtualService, takesAll, countsAttempts, withoutDomains } = plan;
    const service = plannedService(view, plan);
    const dropped = new Set(withoutDomains);
    const domains = takesAll ? ["*"] : hostDomains(view, plan, service).all.filter((domain) => !dropped.has(domain));
    const routes =
      virtualService === undefined
        ? [view.read(encodedServiceRoutes, hostAndPort.write(plan))]
        : Object.values(view.read(encodedVirtualServiceRoutes, routesKey(virtualService, listenPort, meshGateway)));
    const session = service === undefined ? undefined : sessionConfig(view, service.labels);
    const head = create(VirtualHostSchema, { name: hostName(plan).toLowerCase(), domains: [...new Set(domains)] });
    const tail = create(VirtualHostSchema, {
      includeRequestAttemptCount: countsAttempts,
      ...(session && { typedPerFilterConfig: { [sessionFilter]: session } }),
    });
    return encodedElement(virtualHostsField, VirtualHostSchema, [head, ...routes, tail]);
  },
  sameVersion,
);

/** The route of a service that no VirtualService speaks of, and those of requests for hosts nobody knows. */
const everyPath = { pathSpecifier: { case: "prefix", value: "/" } } as const;

/** The `routes` field of a virtual host. */
const encodedServiceRoutes = query<Uint8Array, HostAndPort>(
  "service-routes",
  (view, argument) => {
    const { hostname, port } = hostAndPort.read(argument);
    // As everywhere in routes, hosts are in lower case. Source: corpus xds, TestMeshNetworking.
    const host = hostname.toLowerCase();
    const hash = consistentHashFor(view, create(DestinationSchema, { host: hostname, port: { number: Number(port) } }));
    const policy = hash === undefined ? undefined : hashPolicy(hash);
    const retries = retryPolicy(view.mesh.defaultHttpRetryPolicy);
    const route = create(RouteSchema, {
      name: "default",
      match: everyPath,
      decorator: { operation: `${inUrl(host)}:${port}/*` },
      action: {
        case: "route",
        value: {
          clusterSpecifier: { case: "cluster", value: clusterName("outbound", Number(port), "", host) },
          timeout: zeroDuration,
          maxGrpcTimeout: zeroDuration,
          ...(retries && { retryPolicy: retries }),
          ...(policy && { hashPolicy: [policy] }),
        },
      },
    });
    return encodedFields(VirtualHostSchema, create(VirtualHostSchema, { routes: [route] }));
  },
  sameBytes,
);

/**
 * Requests for unknown hosts pass: to where they were going, to the egress proxy, or by DNS. Of all routes only these show
 * the server the host that was asked for. Source: istiod asked.
 */
export function passthroughRoute(cluster: string, appendXForwardedHost: boolean): Route {
  return create(RouteSchema, {
    name: cluster === "AllowAnyDynamicDNSCluster" ? "allow_any_dynamic_dns" : "allow_any",
    match: everyPath,
    action: {
      case: "route",
      value: {
        clusterSpecifier: { case: "cluster", value: cluster },
        timeout: zeroDuration,
        maxGrpcTimeout: zeroDuration,
        appendXForwardedHost,
      },
    },
  });
}

/** Requests for unknown hosts are answered with 502. */
export function blockedRoute(): Route {
  return create(RouteSchema, {
    name: "block_all",
    match: everyPath,
    action: { case: "directResponse", value: { status: 502 } },
  });
}
