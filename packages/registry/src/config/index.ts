export { configOf } from "./config-of.ts";
export { configKind, isClusterScoped } from "./kinds.ts";
export { meshConfigKey, meshConfigOf, meshNetworksKey, meshNetworksOf } from "./mesh-documents.ts";
