/** Makes weighted clusters deterministic: a request header replaces Envoy's random number (decision 0410). */
import { decode, encode } from "@flotilla/proto";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { Resource } from "@flotilla/xds";

/** Header with a whole number; modulo the sum of the weights it selects the cluster. */
export const choiceHeader = "x-choice";

/** Sets the header in every split of a route configuration; returns it unchanged if there is none. */
export function withPinnedChoice(resource: Resource): Resource {
  const configuration = decode(RouteConfigurationSchema, resource.bytes);
  if (!pin(configuration)) return resource;
  return {
    ...resource,
    bytes: encode(RouteConfigurationSchema, configuration),
    version: `${resource.version}-pinned`,
  };
}

function pin({ virtualHosts }: RouteConfiguration): boolean {
  let isPinned = false;
  for (const { action } of virtualHosts.flatMap(({ routes }) => routes)) {
    if (action.case !== "route" || action.value.clusterSpecifier.case !== "weightedClusters") continue;
    action.value.clusterSpecifier.value.randomValueSpecifier = { case: "headerName", value: choiceHeader };
    isPinned = true;
  }
  return isPinned;
}
