/** Route configurations of routers: one for the plain HTTP servers of a port, one for each HTTPS server. */
import { typeUrl } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { mergedGateways } from "../../snapshot/scope/gateways.ts";
import { query } from "../../snapshot/view.ts";
import { slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { routeConfigurationHead, routeConfigurationTail } from "../envoy/routes/route-configuration.ts";
import { routePatching } from "../select/patching.ts";
import { encodedRouterHost } from "./routes/virtual-host.ts";
import { routerHostPlan } from "./routes/virtual-host-plan.ts";

export const routerRoutes = createContainerGenerator({
  typeUrl: typeUrl.route,
  label: "router ",
  select: (view, name) =>
    view.read(isRouted, name) ? { name, virtualHosts: view.read(virtualHosts, name) } : undefined,
  schema: RouteConfigurationSchema,
  before: routeConfigurationHead,
  parts: ({ virtualHosts }) => virtualHosts,
  behind: () => routeConfigurationTail(),
  patching: routePatching("router"),
});

const isRouted = query<boolean, string>("is-routed", (view, name) => view.read(mergedGateways).routes.has(name));

const virtualHosts = slicedParts("router-virtual-hosts", routerHostPlan, encodedRouterHost);
