/** Parts of an object's metadata that checks read, and annotations that are not for users. */
import { parseBoolean } from "@flotilla/model";
import type { Problem } from "../../problem.ts";
import { entries, type Field, fieldAt, refuseIf, textOf } from "./field.ts";

export interface ObjectMetadata {
  /** "" where the object has none. */
  readonly name: string;
  readonly namespace: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: ReadonlyMap<string, string>;
}

export function metadataOf(object: Field): ObjectMetadata {
  const map = (name: string) =>
    new Map(entries(fieldAt(object, "metadata"), name).map(([key, value]) => [key, textOf(value)] as const));
  return {
    name: textOf(fieldAt(object, "metadata", "name")),
    namespace: textOf(fieldAt(object, "metadata", "namespace")),
    labels: map("labels"),
    annotations: map("annotations"),
  };
}

/** Objects that a control plane made of others carry these; by hand they would give rights of another namespace. */
const reserved = ["internal.istio.io/parents", "internal.istio.io/parent-namespace"];
/** Marks the invalid object that a validating webhook is probed with. */
const rejectAlways = "internal.istio.io/webhook-always-reject";
const dryRun = "istio.io/dry-run";

/** For objects of all kinds. `isAuthorization`: only rules of access can be tried without effect. */
export function metadataProblems(object: Field, isAuthorization: boolean): readonly Problem[] {
  const { annotations } = metadataOf(object);
  const at = (name: string): Field => ({ value: annotations.get(name), path: `metadata.annotations[${name}]` });
  const action = textOf(fieldAt(object, "spec", "action")) || "ALLOW";
  const dry = annotations.get(dryRun);
  return [
    ...reserved.flatMap((name) => refuseIf(annotations.has(name), at(name), "must not be set by users")),
    ...refuseIf(annotations.has(rejectAlways), at(rejectAlways), "asks for the object to be refused"),
    ...(dry === undefined
      ? []
      : [
          ...refuseIf(!isAuthorization, at(dryRun), "is for AuthorizationPolicies only"),
          ...refuseIf(
            isAuthorization && parseBoolean(dry) === undefined,
            at(dryRun),
            `${JSON.stringify(dry)} is neither true nor false`,
          ),
          ...refuseIf(
            isAuthorization && action !== "ALLOW" && action !== "DENY",
            at(dryRun),
            `a policy with action ${action} cannot be tried without effect, only ALLOW and DENY can`,
          ),
        ]),
  ];
}

/** True where a Gateway or VirtualService was made of an object of the Gateway API, whose names and hosts have other forms. */
export function isConverted({ annotations }: ObjectMetadata, of: "gateway" | "route"): boolean {
  return annotations.get(`internal.istio.io/${of}-semantics`) === "gateway";
}
