/**
 * DestinationRules of one namespace for one host, merged as istiod does it: the oldest comes first in everything. Source: scenario
 * destinationrule/reach-and-selectors.
 */
import { parentsAnnotation } from "@flotilla/gateway-api";
import { type Config, equalJson } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type DestinationRule,
  DestinationRuleSchema,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { View } from "../view.ts";

/** One rule, or several merged into one. */
export interface MergedRule {
  /** The merged spec under the key of the oldest rule. */
  readonly config: Config<DestinationRule>;
  /** Oldest first. */
  readonly sources: readonly Config<DestinationRule>[];
}

/**
 * A rule is merged into those before it that reach no further, and stands alone where the last one before it reaches elsewhere. Of rules
 * that hold for a workload the last one counts. Rules with a workload selector come first; they take over the subsets of rules without one.
 */
export function mergeRules(view: View, rules: readonly Config<DestinationRule>[]): readonly MergedRule[] {
  const isEnhanced = view.feature("enhancedDestinationRuleMerge");
  const merged: MergedRule[] = [];
  for (const rule of [...rules.filter(isSelective), ...rules.filter((one) => !isSelective(one))]) {
    reportRepeatedSubsets(view, rule);
    let [isSeparate, isSeenByAll] = [true, false];
    for (const [index, into] of merged.entries()) {
      const reach = isEnhanced ? comparedReach(into.config, rule) : "unchecked";
      if (reach !== "unchecked") isSeparate = reach !== "same";
      if (reach === "elsewhere") continue;
      const selectors = comparedSelectors(into.config, rule);
      if (selectors !== "one") isSeparate = selectors === "different";
      if (selectors === "different") continue;
      merged[index] = { config: mergeInto(view, into.config, rule), sources: [...into.sources, rule] };
      if (selectors === "same" && reach !== "wider") isSeenByAll = true;
    }
    if (isSeparate) merged.push({ config: rule, sources: [rule] });
    // differs: the rule stays for those whom the rules that it was merged into do not reach (decision 0485).
    else if (!isSeenByAll) merged.unshift({ config: rule, sources: [rule] });
  }
  return merged;
}

function isSelective({ spec }: Config<DestinationRule>): boolean {
  return spec.workloadSelector !== undefined;
}

function comparedReach(a: Config<DestinationRule>, b: Config<DestinationRule>): "same" | "wider" | "elsewhere" {
  const [before, now] = [reachOf(a), reachOf(b)];
  if (before.symmetricDifference(now).size === 0) return "same";
  return before.size > 0 && now.isSupersetOf(before) ? "wider" : "elsewhere";
}

/** A rule for selected workloads stays in its namespace. */
function reachOf(rule: Config<DestinationRule>): ReadonlySet<string> {
  return new Set(isSelective(rule) ? ["."] : rule.spec.exportTo);
}

/** `one`: one of them has a selector. */
function comparedSelectors(
  { spec: a }: Config<DestinationRule>,
  { spec: b }: Config<DestinationRule>,
): "same" | "different" | "one" {
  if (a.workloadSelector === undefined || b.workloadSelector === undefined)
    return a.workloadSelector === b.workloadSelector ? "same" : "one";
  return equalJson(a.workloadSelector.matchLabels, b.workloadSelector.matchLabels) ? "same" : "different";
}

/** Subsets of one name would be clusters of one name: the first counts. */
function reportRepeatedSubsets(view: View, { key, spec }: Config<DestinationRule>): void {
  const names = spec.subsets.map(({ name }) => name);
  for (const name of new Set(names.filter((one, index) => names.indexOf(one) < index))) {
    view.report({
      metric: "pilot_duplicate_envoy_clusters",
      object: `DestinationRule/${key.namespace}/${key.name}`,
      message: `subset ${name} of ${spec.host} is there more than once, the first one counts`,
    });
  }
}

function mergeInto(view: View, into: Config<DestinationRule>, rule: Config<DestinationRule>): Config<DestinationRule> {
  const names = new Set(into.spec.subsets.map(({ name }) => name));
  for (const { name } of rule.spec.subsets.filter(({ name }) => names.has(name))) {
    view.report({
      metric: "pilot_destrule_subsets",
      object: `DestinationRule/${rule.key.namespace}/${rule.key.name}`,
      message: `subset ${name} of ${rule.spec.host} is defined by ${into.key.name} already`,
    });
  }
  const spec = create(DestinationRuleSchema, {
    ...into.spec,
    ...mergedPolicy(into, rule),
    subsets: [...into.spec.subsets, ...rule.spec.subsets.filter(({ name }) => !names.has(name))],
  });
  return { ...into, spec };
}

/** The first policy counts; one of a user counts field by field before that of a backend policy, which comes first. */
function mergedPolicy(into: Config<DestinationRule>, rule: Config<DestinationRule>): Partial<DestinationRule> {
  const [first, second] = [into.spec.trafficPolicy, rule.spec.trafficPolicy];
  if (first === undefined || second === undefined)
    return first || second ? { trafficPolicy: (first ?? second) as TrafficPolicy } : {};
  const isOfPolicy = ({ annotations }: Config<DestinationRule>) => annotations[parentsAnnotation] !== undefined;
  if (!isOfPolicy(into) || isOfPolicy(rule)) return { trafficPolicy: first };
  return { trafficPolicy: { ...first, ...setFields(second), portLevelSettings: mergedPorts(first, second) } };
}

function mergedPorts(ofPolicy: TrafficPolicy, ofUser: TrafficPolicy): TrafficPolicy["portLevelSettings"] {
  const ports = new Map(ofPolicy.portLevelSettings.map((one) => [one.port?.number, one]));
  for (const one of ofUser.portLevelSettings) {
    const base = ports.get(one.port?.number);
    ports.set(one.port?.number, base === undefined ? one : { ...base, ...setFields(one) });
  }
  return [...ports.values()];
}

function setFields<T extends object>(message: T): Partial<T> {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined)) as Partial<T>;
}
