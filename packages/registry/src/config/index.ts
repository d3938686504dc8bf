export { configOf } from "./config-of.ts";
export { configKind } from "./kinds.ts";
export { meshConfigKey, meshConfigOf, meshNetworksKey, meshNetworksOf } from "./mesh-documents.ts";
