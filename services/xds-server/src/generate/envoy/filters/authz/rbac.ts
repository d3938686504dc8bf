/** Policies of one action as the rules of one RBAC filter. */
import { type Config, compareText } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type Policy,
  PolicySchema,
  type RBAC,
  RBAC_Action,
  RBACSchema,
} from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import type { AuthorizationPolicy, Rule } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { neverPermission, permission } from "./permissions.ts";
import { neverPrincipal, principal } from "./principals.ts";
import { type CallersBy, type Matching, NotForTcp, ruleFields } from "./rule.ts";

export interface RbacInputs {
  readonly policies: readonly Config<AuthorizationPolicy>[];
  readonly action: RBAC_Action;
  readonly tcp: boolean;
  readonly trustDomains: readonly string[];
  readonly callersBy?: CallersBy;
  /** Around the names of policies. */
  readonly prefix?: string;
  readonly suffix?: string;
}

export function rbacRules(inputs: RbacInputs): RBAC {
  const { policies, action, tcp, trustDomains, callersBy, prefix = "", suffix = "" } = inputs;
  const named: [string, Policy][] = policies.flatMap(({ key, spec }) => {
    const name = (index: number) => `${prefix}ns[${key.namespace}]-policy[${key.name}]-rule[${index}]${suffix}`;
    if (spec.rules.length === 0) return [[name(0), neverPolicy]];
    const widens = action !== RBAC_Action.ALLOW;
    const matching = { tcp, widens, namespace: key.namespace, trustDomains, ...(callersBy && { callersBy }) };
    return spec.rules.flatMap((rule, index): [string, Policy][] => {
      const policy = rulePolicy(rule, matching);
      return policy === undefined ? [] : [[name(index), policy]];
    });
  });
  return create(RBACSchema, {
    action,
    policies: Object.fromEntries(named.sort(([a], [b]) => compareText(a, b))),
  });
}

/** A policy without rules: there is one, and it matches nothing. */
export const neverPolicy = create(PolicySchema, { permissions: [neverPermission], principals: [neverPrincipal] });

/** Undefined for a rule with any alternative that asks for requests, where a connection carries bytes. So istiod does it. */
export function rulePolicy(rule: Rule, matching: Matching): Policy | undefined {
  const { operations, sources } = ruleFields(rule);
  try {
    const permissions = operations.map((fields) => permission(fields, matching));
    const principals = sources.map((fields) => principal(fields, matching));
    return create(PolicySchema, { permissions, principals });
  } catch (error) {
    if (error instanceof NotForTcp) return undefined;
    throw error;
  }
}
