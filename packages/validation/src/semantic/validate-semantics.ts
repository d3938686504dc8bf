/** What objects mean, beyond what the schema of their kind demands. Kinds without rules of their own pass. */
import { ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { validateAuthorizationPolicy } from "./authorization-policy.ts";
import { validateDestinationRule } from "./destination-rule.ts";
import { validateGatewayRoute } from "./gateway-route.ts";
import { validateServiceEntry } from "./service-entry.ts";
import { validateVirtualService } from "./virtual-service.ts";

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

/** For objects that fit their schema: what does not is taken for absent. */
export function validateSemantics(object: JsonObject): readonly Problem[] {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return [];
  const [group = ""] = apiVersion.split("/");
  return ownValue(validators, `${group}/${kind}`)?.(object) ?? [];
}
