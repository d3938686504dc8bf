/** All that is known about whether an object is right: its schema first, and what it means when it fits that. */

import { ownValue } from "@flotilla/model";
import { hasErrors, type Problem } from "./problem.ts";
import type { JsonObject } from "./schema/schema.ts";
import { createSchemaValidator, type SchemaValidator } from "./schema/validate-schema.ts";
import { validateAuthorizationPolicy } from "./semantic/authorization-policy.ts";
import { validateDestinationRule } from "./semantic/destination-rule.ts";
import { validateGatewayRoute } from "./semantic/gateway-route.ts";
import { validateServiceEntry } from "./semantic/service-entry.ts";
import { validateVirtualService } from "./semantic/virtual-service.ts";

/** The validator keeps compiled rules: one for the life of a process is right. */
export function createValidator(): SchemaValidator {
  const fits = createSchemaValidator();
  return (object, options) => {
    const problems = fits(object, options);
    return hasErrors(problems) ? problems : [...problems, ...validateSemantics(object)];
  };
}

/** By the group and kind of an object. */
const validators: Readonly<Record<string, (object: JsonObject) => readonly Problem[]>> = {
  "gateway.networking.k8s.io/GRPCRoute": validateGatewayRoute,
  "gateway.networking.k8s.io/HTTPRoute": validateGatewayRoute,
  "gateway.networking.k8s.io/TCPRoute": validateGatewayRoute,
  "gateway.networking.k8s.io/TLSRoute": validateGatewayRoute,
  "networking.istio.io/DestinationRule": validateDestinationRule,
  "networking.istio.io/ServiceEntry": validateServiceEntry,
  "networking.istio.io/VirtualService": validateVirtualService,
  "security.istio.io/AuthorizationPolicy": validateAuthorizationPolicy,
};

/**
 * What objects mean, beyond what the schema of their kind demands. Kinds without rules of their own pass. For objects that
 * fit their schema: what does not is taken for absent.
 */
export function validateSemantics(object: JsonObject): readonly Problem[] {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  const [group = ""] = apiVersion.split("/");
  return ownValue(validators, `${group}/${kind}`)?.(object) ?? [];
}
