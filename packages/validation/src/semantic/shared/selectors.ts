/** Workloads that an object is for: selectors by labels, references to the objects that the policy is attached to. */
import type { Problem } from "../../problem.ts";
import { entries, type Field, field, isSet, items, refuseIf, textOf, warnIf } from "./field.ts";
import { quoted } from "./names.ts";

/** A selector by labels; nothing for an absent one. `labels` is the name of its map. */
export function selectorProblems(selector: Field, labels: "matchLabels" | "labels"): readonly Problem[] {
  if (!isSet(selector)) return [];
  const members = entries(selector, labels);
  return [
    ...members.flatMap(([key, value]) => [
      ...refuseIf(key === "", value, "a label has a name"),
      ...refuseIf(
        key.includes("*") || textOf(value).includes("*"),
        value,
        `${quoted(`${key}=${textOf(value)}`)}: labels are compared as they are, * is no wildcard`,
      ),
    ]),
    ...warnIf(members.length === 0, selector, "has no labels, so that it selects every workload of the namespace"),
  ];
}

const attachable: readonly string[] = [
  ...["core/Service", "networking.istio.io/ServiceEntry"],
  ...["gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/GatewayClass"],
];

/** `selector`, `targetRef`, `targetRefs` of policies: one of them at most, and each as istiod can follow it. */
export function targetProblems(spec: Field): readonly Problem[] {
  const selector = field(spec, "selector");
  const single = field(spec, "targetRef");
  const many = items(spec, "targetRefs");
  const ways = [isSet(selector), isSet(single), many.length > 0].filter(Boolean).length;
  return [
    ...refuseIf(ways > 1, spec, "only one of selector, targetRef and targetRefs can be set"),
    ...selectorProblems(selector, "matchLabels"),
    ...[single, ...many].filter(isSet).flatMap(referenceProblems),
  ];
}

function referenceProblems(reference: Field): readonly Problem[] {
  const name = field(reference, "name");
  const namespace = field(reference, "namespace");
  const group = textOf(field(reference, "group"));
  const kind = textOf(field(reference, "kind"));
  return [
    ...refuseIf(textOf(name) === "", name, "must not be empty"),
    ...refuseIf(textOf(namespace) !== "", namespace, "must not be set: a policy is for targets of its own namespace"),
    ...refuseIf(
      !attachable.includes(`${group || "core"}/${kind}`),
      reference,
      `${group}/${kind} is none of Service, ServiceEntry, Gateway and GatewayClass`,
    ),
  ];
}
