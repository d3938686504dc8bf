/** Validation of configuration: the kinds' schemas, and rules on the meaning of the fields. */
export { hasErrors, type Problem, problemText, type Severity } from "./problem.ts";
export { editorSchemas } from "./schema/editor-schemas.ts";
export { createSchemaValidator, type SchemaOptions, type SchemaValidator } from "./schema/validate-schema.ts";
export type { PatchValueCheck } from "./semantic/envoy-filter.ts";
export { validateMeshConfig } from "./semantic/mesh-config.ts";
export { validateProxyConfig } from "./semantic/mesh-default-config.ts";
export { validateMeshNetworks } from "./semantic/mesh-networks.ts";
export type { GatewayRole, ServedIngress, ServedKinds } from "./semantic/shared/served-kinds.ts";
export { durationMs } from "./semantic/shared/values.ts";
export { nearestKind, unknownKindText } from "./unknown-kind.ts";
export { createValidator, isEnvoyFilter } from "./validate-object.ts";
