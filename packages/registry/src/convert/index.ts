export { addressRange } from "./address-pool.ts";
export { backendProtocol } from "./backend.ts";
export type { PodLookup, SliceEndpoints } from "./endpoint-slice.ts";
export type { EndpointContext, MeshNetworksSpec, NetworkLookup, Workload } from "./endpoint-traits.ts";
export { hashedAddresses } from "./hashed-addresses.ts";
export { convertKubernetesService, type ServiceContext } from "./kubernetes-service.ts";
export { podWorkload } from "./pod.ts";
export {
  controllerAnnotation,
  disconnectedAnnotation,
  groupAnnotation,
  registrationController,
} from "./registered-workload.ts";
export { convertServiceEntry, type ServiceEntryContext } from "./service-entry.ts";
export { selectedByServiceEntry, serviceEntryEndpoints } from "./service-entry-endpoints.ts";
export { mergedWorkloadEntry, type SelectableWorkload } from "./workload-entry.ts";
