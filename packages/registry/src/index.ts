export { checkKubeObject, type KubeFinding } from "./kube-check.ts";
export { createMesh, loadMesh, type Mesh, type MeshStep } from "./load-mesh.ts";
export type { RegistryProblem } from "./registry/problems.ts";
export type { RegistryChange } from "./registry/published.ts";
export { losesEndpoints } from "./registry/published.ts";
export {
  isRegistryObject,
  type ObjectChange,
  Registry,
  type RegistryInput,
  type RegistryUpdate,
  registryKinds,
} from "./registry/registry.ts";
export { defaultRegistrySettings, type RegistrySettings, registrySettingsFromEnv } from "./settings.ts";
