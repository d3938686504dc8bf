/** Status of InferencePools: one entry for each Gateway with a route to the pool. Source: the Inference Extension's API; istiod's words. */
import type { Config } from "@flotilla/model";
import { condition, gatewayController, type Problem } from "./conditions.ts";
import { gatewayGroup } from "./gateway-spec.ts";
import type { InferencePoolSpec } from "./inference-pool.ts";
import type { ParentStatus } from "./route-status.ts";

/** A Gateway with a route to the pool. */
export interface PoolGateway {
  readonly namespace: string;
  readonly name: string;
  /** Why the Gateway takes none of these routes. */
  readonly refused?: string;
}

export function inferencePoolStatus(
  { spec }: Config<InferencePoolSpec>,
  gateways: readonly PoolGateway[],
  hasService: (name: string) => boolean,
): readonly ParentStatus[] {
  const unresolved = pickerProblem(spec.endpointPickerRef, hasService);
  return gateways.map(({ namespace, name, refused }) => ({
    controllerName: gatewayController,
    parentRef: { group: gatewayGroup, kind: "Gateway", namespace, name },
    conditions: [
      condition(
        "Accepted",
        { reason: "Accepted", message: "Referenced by an HTTPRoute accepted by the parentRef Gateway" },
        refused === undefined ? undefined : { reason: "HTTPRouteNotAccepted", message: refused },
      ),
      condition(
        "ResolvedRefs",
        { reason: "ResolvedRefs", message: "Referenced ExtensionRef resolved successfully" },
        unresolved,
      ),
    ],
  }));
}

function pickerProblem(
  { kind = "Service", name = "" }: NonNullable<InferencePoolSpec["endpointPickerRef"]> = {},
  hasService: (name: string) => boolean,
): Problem | undefined {
  const invalid = (message: string): Problem => ({ reason: "InvalidExtensionRef", message });
  if (kind !== "Service") return invalid(`Unsupported ExtensionRef kind ${kind}`);
  if (name === "") return invalid("ExtensionRef not defined");
  return hasService(name) ? undefined : invalid(`Referenced ExtensionRef not found ${name}`);
}
