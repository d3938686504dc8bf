export { addressRange } from "./address-pool.ts";
export { backendProtocol } from "./backend.ts";
export type { PodLookup, SliceEndpoints } from "./endpoint-slice.ts";
export { hashedAddresses } from "./hashed-addresses.ts";
export { convertKubernetesService, type ServiceContext, serviceHostname } from "./kubernetes-service.ts";
export type { MeshNetworksSpec, NetworkLookup } from "./network.ts";
export { type EndpointContext, podWorkload, type Workload } from "./pod.ts";
export {
  controllerAnnotation,
  disconnectedAnnotation,
  groupAnnotation,
  registrationController,
} from "./registered-workload.ts";
export { convertServiceEntry, type ServiceEntryContext } from "./service-entry.ts";
export { selectedByServiceEntry, serviceEntryEndpoints } from "./service-entry-endpoints.ts";
export { mergedWorkloadEntry, type SelectableWorkload } from "./workload-entry.ts";
