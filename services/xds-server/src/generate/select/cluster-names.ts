/** Selects a proxy's outbound clusters: one a port of each service in scope, one more a subset. */
import { clusterName, type Service, sniName } from "@flotilla/model";
import { ServerTLSSettings_TLSmode as TlsMode } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { destinationRuleOf } from "../../snapshot/scope/destination-rules.ts";
import { mergedGateways } from "../../snapshot/scope/gateways.ts";
import { destinationServices, routedServices } from "../../snapshot/scope/routed-services.ts";
import { visibleServices } from "../../snapshot/scope/sidecar-scope.ts";
import { waypointDestinations } from "../../snapshot/scope/waypoint-services.ts";
import { query, type View } from "../../snapshot/view.ts";
import { clusterPorts, identicalTarget } from "./cluster-target.ts";
import { isResolvedByProxy } from "./discovery-type.ts";
import { hasEndpoint } from "./load-assignments.ts";

/** In order of the services in scope. */
export const outboundClusterNames = query<readonly string[]>("outbound-cluster-names", (view) => {
  const services = view.proxy.type === "router" ? routedServices(view) : visibleServices(view);
  return services.flatMap((service) => namesOfService(view, service, false));
});

/** Of the services that a waypoint calls itself. */
export const waypointOutboundNames = query<readonly string[]>("waypoint-outbound-names", (view) =>
  view.read(waypointDestinations).flatMap((service) => namesOfService(view, service, false)),
);

/** Of the services that an east-west gateway leads connections to outside of tunnels and, as in istiod, of those that routes of the services behind it name. */
export const eastWestOutboundNames = query<readonly string[]>("east-west-outbound-names", (view) => {
  const services = new Set([...destinationServices(view), ...view.read(waypointDestinations)]);
  return [...services].flatMap((service) => namesOfService(view, service, false));
});

/** Those that a gateway between networks distinguishes by their server name, of the mesh's own services; none for other gateways. */
export const passingClusterNames = query<readonly string[]>("passing-cluster-names", (view) => {
  const services = view.read(passesCallersTls) ? visibleServices(view) : [];
  return services.filter(({ meshExternal }) => !meshExternal).flatMap((service) => namesOfService(view, service, true));
});

const passesCallersTls = query<boolean>("passes-callers-tls", (view) =>
  [...view.read(mergedGateways).listeners.values()].some(({ servers }) =>
    servers.some(({ server }) => server.tls?.mode === TlsMode.AUTO_PASSTHROUGH),
  ),
);

function namesOfService(view: View, service: Service, passesTls: boolean): readonly string[] {
  if (service.resolution === "alias") return [];
  const rule = destinationRuleOf(view, service);
  // Names that are resolved as requests come have no endpoints that a subset could choose from.
  const named = service.resolution === "dynamic-dns" ? [] : (rule?.spec.subsets ?? []);
  const subsets = ["", ...named.map(({ name }) => name)];
  return clusterPorts(service).flatMap((port) =>
    subsets
      .map((subset) => {
        const name = (passesTls ? sniName : clusterName)("outbound", port.number, subset, service.hostname);
        return identicalTarget({ name, service, port, subset, rule, passesTls });
      })
      .filter((target) => !isResolvedByProxy(view, target) || hasEndpoint(view, target))
      .map(({ name }) => name),
  );
}
