/**
 * The services that a router has clusters of. With PILOT_FILTER_GATEWAY_CLUSTER_CONFIG those are the destinations of the routes of its
 * Gateways, and the services it calls on the way: providers of the mesh, issuers of tokens, and the services that its EnvoyFilters declare
 * as references.
 * Source: Istio's setting of that name, and its annotation of EnvoyFilters.
 */
import { ownValue, type Service } from "@flotilla/model";
import { query, type View } from "../view.ts";
import { tokenRules } from "./authn.ts";
import { envoyFilters } from "./envoy-filters.ts";
import { gatewayDestinations } from "./gateway-heads.ts";
import { selectedGateways } from "./gateways.ts";
import { visibleServices } from "./sidecar-scope.ts";

export function routedServices(view: View): readonly Service[] {
  if (!view.feature("filterGatewayClusterConfig")) return visibleServices(view);
  return servicesOf(view, [
    ...destinationHosts(view),
    ...view.read(tokenRules, "").flatMap(({ rule }) => URL.parse(rule.jwksUri)?.hostname ?? []),
    ...view.read(providerServices),
    ...view.read(referencedServices),
  ]);
}

/** The destinations of the routes of its Gateways alone. */
export function destinationServices(view: View): readonly Service[] {
  return servicesOf(view, destinationHosts(view));
}

function destinationHosts(view: View): readonly string[] {
  return view.read(selectedGateways).flatMap(({ name }) => view.read(gatewayDestinations, name));
}

/** `host` or `namespace/host`. */
function servicesOf(view: View, names: readonly string[]): readonly Service[] {
  const hosts = new Set(names);
  return visibleServices(view).filter(
    ({ namespace, hostname }) => hosts.has(hostname) || hosts.has(`${namespace}/${hostname}`),
  );
}

const referenceAnnotation = "envoyfilter.istio.io/referenced-services";

/** `host` or `namespace/host`, separated by commas in the annotation of an EnvoyFilter that holds for the proxy. */
export const referencedServices = query<readonly string[]>(
  "referenced-services",
  (view) =>
    view.read(envoyFilters).flatMap(({ annotations }) => ownValue(annotations, referenceAnnotation)?.split(",") ?? []),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** `host` or `namespace/host`, as providers name their services. */
export const providerServices = query<readonly string[]>("provider-services", (view) =>
  view.mesh.extensionProviders.flatMap(({ provider: { value } }) =>
    value !== undefined && "service" in value ? [value.service] : [],
  ),
);
