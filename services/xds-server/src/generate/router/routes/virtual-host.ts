/** One virtual host of a router's route configuration, encoded; routers that see it alike share it. */
import { create } from "@flotilla/proto";
import {
  VirtualHost_TlsRequirementType,
  VirtualHostSchema,
} from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { query } from "../../../snapshot/view.ts";
import { type Encoded, encodedElement, sameVersion } from "../../encode/encoded.ts";
import { virtualHostsField } from "../../envoy/routes/route-configuration.ts";
import { encodedVirtualServiceRoutes } from "../../select/virtual-service-routes.ts";
import { type RouterHostText, routerHost } from "./virtual-host-plan.ts";

/** By its identity: an element of its route configuration's field. Routes that take everything come last. */
export const encodedRouterHost = query<Encoded, RouterHostText>(
  "router-virtual-host",
  (view, text) => {
    const { name, domains, routes, redirects, countsAttempts, isMisdirected } = routerHost.read(text);
    const encoded = routes.map((key) => view.read(encodedVirtualServiceRoutes, key));
    return encodedElement(virtualHostsField, VirtualHostSchema, [
      create(VirtualHostSchema, { name, domains: [...domains] }),
      ...encoded.map(({ ahead }) => ahead),
      ...encoded.map(({ last }) => last),
      ...(isMisdirected ? [misdirected] : []),
      create(VirtualHostSchema, {
        includeRequestAttemptCount: countsAttempts,
        ...(redirects && { requireTls: VirtualHost_TlsRequirementType.ALL }),
      }),
    ]);
  },
  sameVersion,
);

const misdirected = create(VirtualHostSchema, {
  routes: [
    {
      name: "misdirected",
      match: { pathSpecifier: { case: "prefix", value: "/" } },
      action: { case: "directResponse", value: { status: 421 } },
    },
  ],
});
