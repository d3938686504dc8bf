/** One virtual host of a sidecar's route configuration, encoded; proxies that see it alike share it. */
import { create } from "@flotilla/proto";
import { VirtualHostSchema } from "@flotilla/proto/envoy/config/route/v3/route_components_pb";
import { hostAndPort } from "../../../snapshot/keys.ts";
import { meshGateway } from "../../../snapshot/scope/virtual-services.ts";
import { query } from "../../../snapshot/view.ts";
import { type Encoded, sameVersion } from "../../encode/encoded.ts";
import { encodedElement } from "../../encode/message.ts";
import { sessionFilter } from "../../envoy/routes/route-filters.ts";
import { sessionConfig } from "../../select/persistent-session.ts";
import { encodedVirtualServiceRoutes, routesKey } from "../../select/virtual-service-routes.ts";
import { hostName } from "./assign-domains.ts";
import { hostDomains } from "./host-domains.ts";
import { type PlanText, parsePlan, plannedService } from "./planned-host.ts";
import { encodedServiceRoutes } from "./service-routes.ts";

/** RouteConfiguration.virtual_hosts */
export const virtualHostsField = 2;

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
        ? view.read(encodedServiceRoutes, hostAndPort.write(plan))
        : view.read(encodedVirtualServiceRoutes, routesKey(virtualService, listenPort, meshGateway));
    const session = service === undefined ? undefined : sessionConfig(view, service.labels);
    const head = create(VirtualHostSchema, { name: hostName(plan).toLowerCase(), domains: [...new Set(domains)] });
    const tail = create(VirtualHostSchema, {
      includeRequestAttemptCount: countsAttempts,
      ...(session && { typedPerFilterConfig: { [sessionFilter]: session } }),
    });
    return encodedElement(virtualHostsField, VirtualHostSchema, [head, routes, tail]);
  },
  sameVersion,
);
