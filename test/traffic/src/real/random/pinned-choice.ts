/** Takes chance out of weighted clusters: a header of the request stands for Envoy's random number. */
import { decode, encode } from "@flotilla/proto";
import { type RouteConfiguration, RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import type { Resource } from "@flotilla/xds";

/** A whole number; the cluster is that at this place, modulo the sum of the weights. */
export const choiceHeader = "x-choice";

/** The route configuration with the header in each of its splits; as it is where it has none. */
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
