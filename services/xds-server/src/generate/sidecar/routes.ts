/**
 * Route configurations of sidecars: one a port, one a service whose protocol is found out by sniffing. They are
 * joined from virtual hosts that are encoded once each, so that a change costs what it touches.
 */
import { create, typeUrl } from "@flotilla/proto";
import { type Route, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type Encoded, sameVersion, slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { encodedElement } from "../encode/message.ts";
import {
  routeConfigurationHead,
  routeConfigurationTail,
  virtualHostsField,
} from "../envoy/routes/route-configuration.ts";
import { routePatching } from "../select/patching.ts";
import { addsAttemptCount, proxyHeaders } from "../select/proxy-headers.ts";
import { parseRouteName, virtualHostPlan } from "../select/virtual-host-plan.ts";
import { blockedRoute, encodedVirtualHost, passthroughRoute } from "./routes/virtual-host.ts";

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
  behind: routeConfigurationTail,
  patching: routePatching("sidecar"),
});

const virtualHosts = slicedParts("virtual-hosts", virtualHostPlan, encodedVirtualHost);

/** What becomes of requests for hosts that are not in scope. */
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
