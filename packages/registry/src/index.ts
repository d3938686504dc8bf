export {
  type ConsulChange,
  type ConsulInstance,
  type ConsulServiceKey,
  consulKeyText,
  consulOrigin,
} from "./consul.ts";
export { createMesh, loadMesh, type Mesh, type MeshStep } from "./load-mesh.ts";
export { registryKinds } from "./registry/apply-object.ts";
export { ClusterRegistries, type ClusterSetService } from "./registry/clusters.ts";
export type { RegistryProblem } from "./registry/problem.ts";
export type { RegistryChange } from "./registry/published.ts";
export type { RegisteredWorkloadChange, RegistrationRecords } from "./registry/registration-side.ts";
export { Registry } from "./registry/registry.ts";
export {
  type ClusterChange,
  multiClusterGroup,
  type ObjectChange,
  type RegistryInput,
} from "./registry/registry-input.ts";
export { defaultRegistrySettings, type RegistrySettings, registrySettings } from "./settings.ts";
