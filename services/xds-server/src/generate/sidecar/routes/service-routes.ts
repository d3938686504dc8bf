/** The route of a service that no VirtualService speaks of, and those of requests for hosts nobody knows. */
import { clusterName } from "@flotilla/model";
import { create } from "@flotilla/proto";
import { type Route, RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { DestinationSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { type HostAndPort, hostAndPort } from "../../../snapshot/keys.ts";
import { query } from "../../../snapshot/view.ts";
import { encodedFields } from "../../encode/message.ts";
import { sameBytes } from "../../encode/wire.ts";
import { zeroDuration } from "../../envoy/duration.ts";
import { inUrl } from "../../envoy/routes/domains.ts";
import { hashPolicy } from "../../envoy/routes/hash-policy.ts";
import { retryPolicy } from "../../envoy/routes/retry.ts";
import { consistentHashFor } from "../../select/traffic-policy.ts";

const everyPath = { pathSpecifier: { case: "prefix", value: "/" } } as const;

/** The `routes` field of a virtual host. */
export const encodedServiceRoutes = query<Uint8Array, HostAndPort>(
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
 * Requests for unknown hosts pass: to where they were going, to the egress proxy, or by DNS. Of all routes only these tell
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
