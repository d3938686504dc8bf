/**
 * Route configurations of sidecars: one a port, one a service whose protocol is found out by sniffing. They are joined from virtual hosts
 * that are encoded once each, of services, of VirtualServices and of unknown hosts: a change costs the hosts it touches.
 */
import { create, typeUrl } from "@flotilla/proto";
import { type Route, RouteSchema, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type Encoded, encodedElement, sameVersion, slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { zeroDuration } from "../envoy/duration.ts";
import {
  parseRouteName,
  routeConfigurationHead,
  routeConfigurationTail,
  virtualHostsField,
} from "../envoy/routes/route-configuration.ts";
import { routePatching } from "../select/patching.ts";
import { hostDomains, hostPlan, type PlanText, plannedService } from "../select/planned-host.ts";
import { addsAttemptCount, proxyHeaders } from "../select/proxy-headers.ts";
import { encodedMeshHost, everyPath } from "../select/virtual-host.ts";
import { virtualHostPlan } from "../select/virtual-host-plan.ts";

export const sidecarRoutes = createContainerGenerator({
  typeUrl: typeUrl.route,
  label: "sidecar ",
  select: (view, name) => {
    const route = parseRouteName(name);
    const fallback = route === undefined || route.isOfOneService ? undefined : view.read(fallbackHost);
    return { name, virtualHosts: view.read(virtualHosts, name), fallback };
  },
  schema: RouteConfigurationSchema,
  before: routeConfigurationHead,
  parts: ({ virtualHosts, fallback }) => (fallback === undefined ? virtualHosts : [...virtualHosts, fallback]),
  behind: () => routeConfigurationTail(),
  patching: routePatching("sidecar"),
});

/** By its identity; proxies that see the host alike share it. */
const encodedVirtualHost = query<Encoded, PlanText>(
  "virtual-host",
  (view, text) => {
    const plan = hostPlan.read(text);
    const dropped = new Set(plan.withoutDomains);
    const domains = plan.takesAll
      ? ["*"]
      : hostDomains(view, plan, plannedService(view, plan)).all.filter((domain) => !dropped.has(domain));
    return encodedMeshHost(view, plan, { domains, arrival: "plain" });
  },
  sameVersion,
);

const virtualHosts = slicedParts("virtual-hosts", virtualHostPlan, encodedVirtualHost);

/** The treatment of requests for hosts that are not in scope. */
const fallbackHost = query<Encoded>(
  "fallback-virtual-host",
  (view) => {
    const route = fallbackRoute(view);
    const host = create(VirtualHostSchema, {
      name: route.name,
      domains: ["*"],
      routes: [route],
      includeRequestAttemptCount: view.read(addsAttemptCount),
    });
    return encodedElement(virtualHostsField, VirtualHostSchema, [host]);
  },
  sameVersion,
);

function fallbackRoute(view: View): Route {
  const cluster = view.read(fallbackCluster);
  if (cluster === "BlackHoleCluster") return blockedRoute();
  return passthroughRoute(cluster, view.read(proxyHeaders)?.xForwardedHost?.enabled === true);
}

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
function blockedRoute(): Route {
  return create(RouteSchema, {
    name: "block_all",
    match: everyPath,
    action: { case: "directResponse", value: { status: 502 } },
  });
}
