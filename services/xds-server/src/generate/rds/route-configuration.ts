/**
 * Route configurations of sidecars: one a port, one a service whose protocol is found out by sniffing. They are
 * joined from virtual hosts that are encoded once each, so that a change costs what it touches and a copy.
 */
import { create, encode, typeUrl } from "@flotilla/proto";
import { type Route, VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { fallbackCluster } from "../../snapshot/scope/sidecar.ts";
import { query, type View } from "../../snapshot/view.ts";
import { createContainerGenerator } from "../generator.ts";
import { concatBytes, lengthDelimited, sameBytes } from "../shared/wire.ts";
import type { HostWithDomains } from "./assign-domains.ts";
import { parseRouteName } from "./listener-route.ts";
import { blockedRoute, encodedServiceRoutes, passthroughRoute } from "./service-routes.ts";
import { sessionConfig, sessionFilter } from "./session.ts";
import { virtualHostPlan } from "./virtual-host-plan.ts";
import { encodedVirtualServiceRoutes } from "./virtual-service-routes.ts";

const maxDirectResponseBodyBytes = 1_048_576;
/** RouteConfiguration.virtual_hosts */
const virtualHostsField = 2;

interface Inputs {
  readonly name: string;
  readonly virtualHosts: readonly Uint8Array[];
  readonly fallback: Uint8Array | undefined;
}

export const sidecarRoutes = createContainerGenerator<Inputs>({
  typeUrl: typeUrl.route,
  label: "sidecar ",
  select: (view, name) => {
    const route = parseRouteName(name);
    const virtualHosts = view.read(encodedVirtualHosts, name);
    return {
      name,
      virtualHosts,
      fallback: route === undefined || route.isSniffed ? undefined : view.read(fallbackHost),
    };
  },
  join: ({ name, virtualHosts, fallback }) => {
    const head = encode(RouteConfigurationSchema, create(RouteConfigurationSchema, { name }));
    const tail = create(RouteConfigurationSchema, {
      validateClusters: false,
      maxDirectResponseBodySizeBytes: maxDirectResponseBodyBytes,
      ignorePortInHostMatching: true,
    });
    const hosts = fallback === undefined ? virtualHosts : [...virtualHosts, fallback];
    return concatBytes([head, ...hosts, encode(RouteConfigurationSchema, tail)]);
  },
});

const encodedVirtualHosts = query<readonly Uint8Array[], string>("encoded-virtual-hosts", (view, routeName) =>
  view.read(virtualHostPlan, routeName).map((text) => view.read(encodedVirtualHost, text)),
);

/** A virtual host as an element of its route configuration's field. */
const encodedVirtualHost = query<Uint8Array, string>(
  "encoded-virtual-host",
  (view, text) => {
    const { name, domains, routesOf, session } = JSON.parse(text) as HostWithDomains;
    const head = encode(VirtualHostSchema, create(VirtualHostSchema, { name, domains: [...domains] }));
    const routes =
      "service" in routesOf
        ? view.read(encodedServiceRoutes, routesOf.service)
        : view.read(encodedVirtualServiceRoutes, routesOf.virtualService);
    const config = sessionConfig(session);
    const tail = create(VirtualHostSchema, {
      includeRequestAttemptCount: true,
      ...(config && { typedPerFilterConfig: { [sessionFilter]: config } }),
    });
    return lengthDelimited(virtualHostsField, concatBytes([head, routes, encode(VirtualHostSchema, tail)]));
  },
  sameBytes,
);

/** What becomes of requests for hosts that are not in scope. */
const fallbackHost = query<Uint8Array>(
  "fallback-virtual-host",
  (view) => {
    const route = fallbackRoute(view);
    const host = create(VirtualHostSchema, {
      name: route.name,
      domains: ["*"],
      routes: [route],
      includeRequestAttemptCount: true,
    });
    return lengthDelimited(virtualHostsField, encode(VirtualHostSchema, host));
  },
  sameBytes,
);

function fallbackRoute(view: View): Route {
  const cluster = view.read(fallbackCluster);
  return cluster === "BlackHoleCluster" ? blockedRoute() : passthroughRoute(cluster);
}
