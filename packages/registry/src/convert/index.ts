export { addressRange } from "./address-pool.ts";
export { backendProtocol, backendServiceEntry } from "./backend.ts";
export { consulEndpoints, consulHosts, convertConsulService } from "./consul.ts";
export { convertEndpointSlice, distinctEndpoints, type PodLookup, type SliceEndpoints } from "./endpoint-slice.ts";
export { hashedAddresses } from "./hashed-addresses.ts";
export { spiffeId } from "./identity.ts";
export { convertKubernetesService, type ServiceContext, serviceHostname } from "./kubernetes-service.ts";
export { controllerAnnotation, disconnectedAnnotation, groupAnnotation, machineController } from "./machine.ts";
export { type MeshNetworksSpec, type NetworkLookup, networkLookup } from "./network.ts";
export { type EndpointContext, isPodReady, podWorkload, type Workload, workloadName } from "./pod.ts";
export { portProtocol } from "./port-protocol.ts";
export { selectedByService } from "./selected-by-service.ts";
export { convertServiceEntry, type ServiceEntryContext, wantsAddress } from "./service-entry.ts";
export { selectedByServiceEntry, serviceEntryEndpoints } from "./service-entry-endpoints.ts";
export {
  convertWorkloadEntry,
  isHealthyEntry,
  mergedWorkloadEntry,
  type SelectableWorkload,
} from "./workload-entry.ts";
