/** DestinationRules: hosts, subsets, and how connections to them are made. A hash without a name makes Envoy refuse all routes of a port. */
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, items, refuseIf, repeated, textOf, texts } from "./shared/field.ts";
import { loadBalancerProblems } from "./shared/load-balancer.ts";
import type { ObjectMetadata } from "./shared/metadata.ts";
import { exportToProblems, labelsProblems, subsetNameProblems, wildcardHostProblems } from "./shared/names.ts";
import { selectorProblems } from "./shared/selectors.ts";
import {
  clientTlsProblems,
  connectionPoolProblems,
  outlierDetectionProblems,
  tunnelProblems,
} from "./shared/traffic-policy.ts";

export function validateDestinationRule(spec: Field, { namespace }: ObjectMetadata): readonly Problem[] {
  const subsets = items(spec, "subsets");
  const names = subsets.map((subset) => field(subset, "name"));
  const selector = field(spec, "workloadSelector");
  return [
    ...wildcardHostProblems(field(spec, "host")),
    ...policyProblems(field(spec, "trafficPolicy"), namespace),
    ...repeated(names, textOf).flatMap((name) => refuseIf(true, name, `subset ${textOf(name)} is defined twice`)),
    ...subsets.flatMap((subset) => [
      ...subsetNameProblems(field(subset, "name")),
      ...labelsProblems(subset, "labels"),
      ...policyProblems(field(subset, "trafficPolicy"), namespace),
    ]),
    ...exportToProblems(spec, namespace),
    ...(isSet(selector) ? ownNamespaceProblems(spec, namespace) : []),
    ...selectorProblems(selector, "matchLabels"),
  ];
}

/** A rule for chosen clients concerns clients of its namespace only. */
function ownNamespaceProblems(spec: Field, namespace: string): readonly Problem[] {
  const isElsewhere = texts(spec, "exportTo").some(({ value }) => value !== "." && value !== namespace);
  return refuseIf(isElsewhere, field(spec, "exportTo"), "a rule with a workloadSelector is for its own namespace only");
}

const policyFields: readonly string[] = ["outlierDetection", "connectionPool", "loadBalancer", "tls"];
const wholePolicyFields: readonly string[] = ["portLevelSettings", "tunnel", "proxyProtocol", "retryBudget"];

function policyProblems(policy: Field, namespace: string): readonly Problem[] {
  if (!isSet(policy)) return [];
  const has = (name: string) => isSet(field(policy, name));
  const proxyProtocol = field(policy, "proxyProtocol");
  return [
    ...refuseIf(![...policyFields, ...wholePolicyFields].some(has), policy, "needs at least one field"),
    ...refuseIf(has("tunnel") && has("proxyProtocol"), proxyProtocol, "must not be set beside tunnel"),
    ...settingsProblems(policy, namespace),
    ...tunnelProblems(field(policy, "tunnel")),
    ...items(policy, "portLevelSettings").flatMap((settings) => [
      ...refuseIf(!isSet(field(settings, "port")), field(settings, "port"), "is required"),
      ...refuseIf(!policyFields.some((name) => isSet(field(settings, name))), settings, "needs a field besides port"),
      ...settingsProblems(settings, namespace),
    ]),
  ];
}

/** Settings that are alike for all ports and for one. */
function settingsProblems(settings: Field, namespace: string): readonly Problem[] {
  const detection = field(settings, "outlierDetection");
  return [
    ...loadBalancerProblems(field(settings, "loadBalancer"), isSet(detection)),
    ...outlierDetectionProblems(detection),
    ...connectionPoolProblems(field(settings, "connectionPool")),
    ...clientTlsProblems(field(settings, "tls"), namespace),
  ];
}
