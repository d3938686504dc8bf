/** SRDS of a router: the virtual host of each host by itself, where its route configuration is large (routes/scoped-hosts.ts). */
import { create, typeUrl } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import {
  type ScopedRouteConfiguration,
  ScopedRouteConfigurationSchema,
} from "@flotilla/proto/envoy/config/route/v3/scoped_route_pb";
import { type Encoded, encodedElement, encodedFields } from "../encode/encoded.ts";
import { createContainerGenerator, sharedSelection } from "../encode/generator.ts";
import { withoutLowerCaseHost } from "../envoy/filters/lower-case-host.ts";
import { routeConfigurationHead, routeConfigurationTail } from "../envoy/routes/route-configuration.ts";
import { type ScopeTarget, scopeSlices, scopeTarget } from "./routes/scoped-hosts.ts";
import { encodedRouterHost } from "./routes/virtual-host.ts";

/** ScopedRouteConfiguration.route_configuration */
const routeConfigurationField = 5;

const tail = encodedFields(
  RouteConfigurationSchema,
  routeConfigurationTail({ typedPerFilterConfig: withoutLowerCaseHost }),
);

interface ScopeInputs {
  readonly name: string;
  readonly host: string;
  readonly routeName: string;
  readonly virtualHost: Encoded;
}

export const routerScopedRoutes = createContainerGenerator<ScopeInputs, ScopedRouteConfiguration>({
  typeUrl: typeUrl.scopedRoute,
  label: "router ",
  schema: ScopedRouteConfigurationSchema,
  slices: (view) => view.read(scopeSlices),
  select: () => undefined,
  shared: sharedSelection({
    target: scopeTarget,
    select: (view, { name, host, routeName, virtualHost }: ScopeTarget) => ({
      ...{ name, host, routeName, virtualHost: view.read(encodedRouterHost, virtualHost) },
    }),
  }),
  before: ({ name, host }) =>
    create(ScopedRouteConfigurationSchema, {
      name,
      key: { fragments: [{ type: { case: "stringKey", value: host } }] },
    }),
  parts: ({ routeName: name, virtualHost }) => [
    encodedElement(routeConfigurationField, RouteConfigurationSchema, [
      routeConfigurationHead({ name }),
      virtualHost.bytes,
      tail,
    ]),
  ],
});
