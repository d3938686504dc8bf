/** What all route configurations have in common, in the parts that they are joined from. */
import { create } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";

export const maxDirectResponseBodyBytes = 1_048_576;

/** RouteConfiguration.virtual_hosts */
export const virtualHostsField = 2;

/** The field before the virtual hosts. */
export function routeConfigurationHead({ name }: { readonly name: string }) {
  return create(RouteConfigurationSchema, { name });
}

/** The fields behind the virtual hosts. Clusters may come later than the routes to them. */
export function routeConfigurationTail() {
  return create(RouteConfigurationSchema, {
    validateClusters: false,
    maxDirectResponseBodySizeBytes: maxDirectResponseBodyBytes,
    ignorePortInHostMatching: true,
  });
}
