/** All checks of one object: its schema first, then its meaning. */

import { anything, ownValue } from "@flotilla/model";
import { hasErrors, type Problem } from "./problem.ts";
import type { JsonObject } from "./schema/schema.ts";
import { createSchemaValidator, type SchemaValidator } from "./schema/validate-schema.ts";
import { validateAuthorizationPolicy } from "./semantic/authorization-policy.ts";
import { validateDestinationRule } from "./semantic/destination-rule.ts";
import { type PatchValueCheck, patchValueProblems, validateEnvoyFilter } from "./semantic/envoy-filter.ts";
import { validateGateway } from "./semantic/gateway.ts";
import {
  validateBackendTlsPolicy,
  validateBackendTrafficPolicy,
  validateInferencePool,
  validateReferenceGrant,
} from "./semantic/gateway-policies.ts";
import { validateGatewayRoute } from "./semantic/gateway-route.ts";
import { validateIngress } from "./semantic/ingress.ts";
import { validateGatewayClass, validateKubernetesGateway, validateListenerSet } from "./semantic/kubernetes-gateway.ts";
import { validatePeerAuthentication } from "./semantic/peer-authentication.ts";
import { validateProxyConfig } from "./semantic/proxy-config.ts";
import { validateRequestAuthentication } from "./semantic/request-authentication.ts";
import { validateServiceEntry } from "./semantic/service-entry.ts";
import { type Field, field, isSet } from "./semantic/shared/field.ts";
import { metadataOf, metadataProblems, type ObjectMetadata } from "./semantic/shared/metadata.ts";
import { type ServedKinds, usualNames } from "./semantic/shared/served-kinds.ts";
import { validateSidecar } from "./semantic/sidecar.ts";
import { validateTelemetry } from "./semantic/telemetry.ts";
import { validateTrafficExtension } from "./semantic/traffic-extension.ts";
import { validateVirtualService } from "./semantic/virtual-service.ts";
import { validateWasmPlugin } from "./semantic/wasm-plugin.ts";
import { validateWorkloadEntry } from "./semantic/workload-entry.ts";
import { validateWorkloadGroup } from "./semantic/workload-group.ts";

export interface ValidatorTools {
  /** Of Envoy's messages, which take 50 MB: undefined until they are needed. */
  readonly patchValue?: () => PatchValueCheck | undefined;
  /** The Gateways and Ingresses of the mesh, where more is known than the usual names. */
  readonly served?: ServedKinds;
}

/** The validator keeps compiled rules: one for the life of a process is right. */
export function createValidator({ patchValue, served }: ValidatorTools = {}): SchemaValidator {
  const fits = createSchemaValidator();
  return (object, options) => {
    // The one bound on depth: the checks below, and later readers of the object, go down recursively.
    const tooDeep = anything(object);
    if (tooDeep !== undefined) return [{ field: "", reason: `the object${tooDeep}`, severity: "error" }];
    const problems = fits(object, options);
    if (hasErrors(problems)) return problems;
    const found = [...problems, ...validateSemantics(object, served)];
    const check = isEnvoyFilter(object) && !hasErrors(found) ? patchValue?.() : undefined;
    if (check === undefined) return found;
    return [...found, ...patchValueProblems(field({ value: object, path: "" }, "spec"), check)];
  };
}

/** Its values are checked where Envoy's messages are there (`patchValue`). */
export function isEnvoyFilter({ apiVersion, kind }: JsonObject): boolean {
  return kind === "EnvoyFilter" && typeof apiVersion === "string" && apiVersion.startsWith("networking.istio.io/");
}

type KindValidator = (spec: Field, metadata: ObjectMetadata) => readonly Problem[];

/** By the group and kind of an object. */
const validators: Readonly<Record<string, KindValidator>> = {
  "extensions.istio.io/TrafficExtension": validateTrafficExtension,
  "extensions.istio.io/WasmPlugin": validateWasmPlugin,
  "networking.istio.io/DestinationRule": validateDestinationRule,
  "networking.istio.io/EnvoyFilter": validateEnvoyFilter,
  "networking.istio.io/Gateway": validateGateway,
  "networking.istio.io/ProxyConfig": validateProxyConfig,
  "networking.istio.io/ServiceEntry": validateServiceEntry,
  "networking.istio.io/Sidecar": validateSidecar,
  "networking.istio.io/VirtualService": validateVirtualService,
  "networking.istio.io/WorkloadEntry": validateWorkloadEntry,
  "networking.istio.io/WorkloadGroup": validateWorkloadGroup,
  "security.istio.io/AuthorizationPolicy": validateAuthorizationPolicy,
  "security.istio.io/PeerAuthentication": validatePeerAuthentication,
  "security.istio.io/RequestAuthentication": validateRequestAuthentication,
  "telemetry.istio.io/Telemetry": validateTelemetry,
};

type GatewayApiValidator = (spec: Field, served: ServedKinds) => readonly Problem[];

/** Kinds of the Gateway API, whose metadata has no rules of Istio's. */
const gatewayApiValidators: Readonly<Record<string, GatewayApiValidator>> = {
  "gateway.networking.k8s.io/BackendTLSPolicy": validateBackendTlsPolicy,
  "gateway.networking.k8s.io/Gateway": validateKubernetesGateway,
  "gateway.networking.k8s.io/GatewayClass": validateGatewayClass,
  "gateway.networking.k8s.io/ListenerSet": validateListenerSet,
  "gateway.networking.k8s.io/ReferenceGrant": validateReferenceGrant,
  "gateway.networking.x-k8s.io/XBackendTrafficPolicy": validateBackendTrafficPolicy,
  "inference.networking.k8s.io/InferencePool": validateInferencePool,
};

const gatewayRoutes: ReadonlySet<string> = new Set(["GRPCRoute", "HTTPRoute", "TCPRoute", "TLSRoute", "UDPRoute"]);

/**
 * Semantic rules of objects, beyond the schema of their kind. Kinds without rules of their own pass. For objects that fit their schema:
 * what does not is taken for absent.
 */
export function validateSemantics(object: JsonObject, served: ServedKinds = usualNames): readonly Problem[] {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  const [group = ""] = apiVersion.split("/");
  if (group === "gateway.networking.k8s.io" && gatewayRoutes.has(kind)) return validateGatewayRoute(object);
  const whole: Field = { value: object, path: "" };
  const spec = field(whole, "spec");
  if (group === "networking.k8s.io" && kind === "Ingress") return validateIngress(whole, served);
  const ofGatewayApi = ownValue(gatewayApiValidators, `${group}/${kind}`);
  if (ofGatewayApi !== undefined) return ofGatewayApi(spec, served);
  const validate = ownValue(validators, `${group}/${kind}`);
  if (validate === undefined) return [];
  return [
    ...metadataProblems(whole, kind === "AuthorizationPolicy"),
    ...validate(isSet(spec) ? spec : { value: {}, path: "spec" }, metadataOf(whole)),
  ];
}
