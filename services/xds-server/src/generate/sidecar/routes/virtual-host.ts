/** The virtual hosts of a sidecar: of services and VirtualServices, and the routes of requests for hosts that nobody knows. */
import { create } from "@flotilla/proto";
import { type Route, RouteSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { query } from "../../../snapshot/view.ts";
import { type Encoded, sameVersion } from "../../encode/encoded.ts";
import { zeroDuration } from "../../envoy/duration.ts";
import { hostDomains, type PlanText, parsePlan, plannedService } from "../../select/planned-host.ts";
import { encodedMeshHost, everyPath } from "../../select/virtual-host.ts";

/** By the text of its plan; proxies that see the host alike share it. */
export const encodedVirtualHost = query<Encoded, PlanText>(
  "virtual-host",
  (view, text) => {
    const plan = parsePlan(text);
    const dropped = new Set(plan.withoutDomains);
    const domains = plan.takesAll
      ? ["*"]
      : hostDomains(view, plan, plannedService(view, plan)).all.filter((domain) => !dropped.has(domain));
    return encodedMeshHost(view, plan, { domains, arrival: "plain" });
  },
  sameVersion,
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
