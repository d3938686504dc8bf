/** Conditions in the status of objects that report a controller's failure to follow them. */
import { ownValue } from "@flotilla/model";
import { type Field, field, items, textOf } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";

const routeConditions = ["Accepted", "Programmed", "ResolvedRefs"];
const boundConditions = ["istio.io/WaypointBound"];

/** Conditions whose status False is a problem. */
const negatives: Readonly<Record<string, readonly string[]>> = {
  AuthorizationPolicy: ["WaypointAccepted", "ZtunnelAccepted"],
  GRPCRoute: routeConditions,
  HTTPRoute: routeConditions,
  KubernetesGateway: routeConditions,
  Service: boundConditions,
  ServiceEntry: boundConditions,
  TCPRoute: routeConditions,
  TLSRoute: routeConditions,
  UDPRoute: routeConditions,
  WorkloadEntry: boundConditions,
};

/** The counterpart of istioctl's conditions.ConditionAnalyzer. */
export const conditions: Analyzer = {
  name: "conditions",
  summary: "objects that a controller reports as not in force",
  messages: ["NegativeConditionStatus"],
  checks: Object.keys(negatives),
  reads: [],
  check: (object) =>
    conditionsOf(object)
      .filter((condition) => isNegative(object.key.kind, condition))
      .map((condition) => {
        const [type, reason, message] = ["type", "reason", "message"].map((name) => textOf(field(condition, name)));
        return finding("NegativeConditionStatus", object, condition, {
          type: type ?? "",
          reason: reason ?? "",
          message: message ?? "",
        });
      }),
};

/** Routes have conditions for each of their parents. */
function conditionsOf({ whole }: MeshObject): readonly Field[] {
  const status = field(whole, "status");
  return [...items(status, "conditions"), ...items(status, "parents").flatMap((parent) => items(parent, "conditions"))];
}

function isNegative(kind: string, condition: Field): boolean {
  const [type, status, reason] = ["type", "status", "reason"].map((name) => textOf(field(condition, name)));
  // A waypoint that can follow a part of a policy accepts it, and reports this in the reason.
  const isPartial = kind === "AuthorizationPolicy" && type === "WaypointAccepted" && reason === "PartiallyInvalid";
  return isPartial || (status === "False" && (ownValue(negatives, kind) ?? []).includes(type ?? ""));
}
