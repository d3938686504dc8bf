/** XBackendTrafficPolicies: retry budgets of Services, in the DestinationRules that stand for all policies of a Service. */
import { type Config, compareByAge, compareText } from "@flotilla/model";
import { create, DurationSchema, fromJson, withSeconds } from "@flotilla/proto";
import {
  type DestinationRule,
  DestinationRuleSchema,
  LoadBalancerSettingsSchema,
  TrafficPolicy_RetryBudgetSchema,
  TrafficPolicySchema,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import {
  type BackendTlsSources,
  isIgnoredPolicy,
  parentsAnnotation,
  policyRuleKey,
  type TargetRef,
  targetKind,
} from "./backend-tls.ts";

export interface BackendTrafficSpec {
  readonly targetRefs?: readonly TargetRef[];
  readonly retryConstraint?: {
    readonly budget?: { readonly percent?: number; readonly interval?: string };
    readonly minRetryRate?: { readonly count?: number };
  };
  readonly sessionPersistence?: unknown;
}

type Rule = Config<DestinationRule>;

/** The rules with what the policies add to them; of two policies for one target the older counts. */
export function withTrafficPolicies(
  rules: readonly Rule[],
  policies: readonly Config<BackendTrafficSpec>[],
  { targetOf }: Pick<BackendTlsSources, "targetOf">,
): readonly Rule[] {
  const byName = new Map(rules.map((rule) => [ruleText(rule), rule]));
  const taken = new Set<string>();
  for (const policy of policies.filter((one) => !isIgnoredPolicy(one)).toSorted(compareByAge)) {
    const { namespace } = policy.key;
    for (const ref of policy.spec.targetRefs ?? []) {
      const kind = targetKind(ref);
      const target = kind && targetOf(kind, namespace, ref.name ?? "");
      for (const host of target?.hosts ?? []) {
        const key = policyRuleKey(namespace, ref, host);
        const text = ruleText({ key });
        if (taken.has(text)) continue;
        taken.add(text);
        byName.set(text, merged(byName.get(text) ?? emptyRule(key, host), policy));
      }
    }
  }
  return [...byName.values()];
}

function ruleText({ key: { namespace, name } }: Pick<Rule, "key">): string {
  return `${namespace}/${name}`;
}

function emptyRule(key: Rule["key"], host: string): Rule {
  return { key, creationTimeMs: 0, labels: {}, annotations: {}, spec: create(DestinationRuleSchema, { host }) };
}

function merged(rule: Rule, { key, spec }: Config<BackendTrafficSpec>): Rule {
  const { host, trafficPolicy } = rule.spec;
  const before = rule.annotations[parentsAnnotation];
  const parents = [...(before?.split(",") ?? []), `${key.kind}/${key.namespace}.${key.name}`];
  const budget = spec.retryConstraint && retryBudget(spec.retryConstraint);
  return {
    ...rule,
    annotations: { ...rule.annotations, [parentsAnnotation]: parents.sort(byPolicyName).join(",") },
    spec: create(DestinationRuleSchema, {
      host,
      trafficPolicy: {
        ...(trafficPolicy ?? create(TrafficPolicySchema)),
        loadBalancer: create(LoadBalancerSettingsSchema),
        ...(budget && { retryBudget: budget }),
      },
    }),
  };
}

/** `Kind/namespace.name` by what follows the kind. */
function byPolicyName(a: string, b: string): number {
  return compareText(a.slice(a.indexOf("/")), b.slice(b.indexOf("/")));
}

function retryBudget({ budget = {}, minRetryRate = {} }: NonNullable<BackendTrafficSpec["retryConstraint"]>) {
  const { percent, interval } = budget;
  return create(TrafficPolicy_RetryBudgetSchema, {
    ...(percent !== undefined && { percent }),
    ...(interval !== undefined && {
      budgetInterval: fromJson(DurationSchema, withSeconds(DurationSchema, interval)),
    }),
    minRetryConcurrency: minRetryRate.count ?? 0,
  });
}
