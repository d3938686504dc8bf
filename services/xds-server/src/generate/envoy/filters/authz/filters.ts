/** The filters that carry out AuthorizationPolicies, in the order in which they decide: CUSTOM, AUDIT, DENY, ALLOW. */
import type { Config } from "@flotilla/model";
import { create, pack } from "@flotilla/proto";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import { RBAC_Action } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import { RBACSchema as HttpRbacSchema } from "@flotilla/proto/envoy/extensions/filters/http/rbac/v3/rbac_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { HttpFilterSchema } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { RBACSchema as NetworkRbacSchema } from "@flotilla/proto/envoy/extensions/filters/network/rbac/v3/rbac_pb";
import {
  AuthorizationPolicy_Action as Action,
  type AuthorizationPolicy,
} from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import type { PolicyFilters } from "../extension-filters.ts";
import { networkFilter } from "../network-filters.ts";
import { type Authorizer, httpExtAuthz, networkExtAuthz, shadowPrefix } from "./ext-authz.ts";
import { rbacRules } from "./rbac.ts";
import type { CallersBy } from "./rule.ts";

export interface AuthorizationInputs {
  readonly policies: readonly Config<AuthorizationPolicy>[];
  readonly trustDomains: readonly string[];
  /** The authorizers of CUSTOM policies, by provider; requests that policies of other providers match are denied. */
  readonly authorizers: ReadonlyMap<string, Authorizer>;
  readonly callersBy: CallersBy;
}

/** The providers that CUSTOM policies name, in the order in which they are asked. */
export function customProviders(policies: readonly Config<AuthorizationPolicy>[]): readonly string[] {
  return [...new Set(customPolicies(policies).map(providerOf))].sort();
}

type RbacParts = Pick<ReturnType<typeof create<typeof HttpRbacSchema>>, "shadowRulesStatPrefix"> & {
  readonly rules?: ReturnType<typeof rbacRules>;
  readonly shadowRules?: ReturnType<typeof rbacRules>;
};

/** @param authentication the filters that check tokens: others are asked before, policies decide afterwards */
export function authorizationHttpFilters(
  inputs: AuthorizationInputs,
  authentication: readonly HttpFilter[],
): PolicyFilters<HttpFilter> {
  const asked = customProviders(inputs.policies).flatMap((provider) => {
    const authorizer = inputs.authorizers.get(provider);
    return [httpRbac(customPart(inputs, provider, false)), ...(authorizer ? [httpExtAuthz(authorizer)] : [])];
  });
  return {
    asked,
    authentication,
    decided: decidedParts(inputs, false).map(httpRbac),
  };
}

export function authorizationNetworkFilters(inputs: AuthorizationInputs): PolicyFilters<Filter> {
  const asked = customProviders(inputs.policies).flatMap((provider) => {
    const authorizer = inputs.authorizers.get(provider);
    const filter = authorizer && networkExtAuthz(authorizer);
    // Connections pass where the authorizer supports requests only.
    if (authorizer !== undefined && filter === undefined) return [];
    return [networkRbac(customPart(inputs, provider, true)), ...(filter ? [filter] : [])];
  });
  return {
    asked,
    authentication: [],
    decided: decidedParts(inputs, true).map(networkRbac),
  };
}

/** Rules that can be checked on connections, decided on the request that opens a tunnel: rejected callers get an answer. */
export function connectionRulesAsHttpFilters(inputs: AuthorizationInputs): readonly HttpFilter[] {
  return decidedParts(inputs, true).map(httpRbac);
}

function httpRbac(parts: RbacParts): HttpFilter {
  return create(HttpFilterSchema, {
    name: "envoy.filters.http.rbac",
    configType: { case: "typedConfig", value: pack(HttpRbacSchema, create(HttpRbacSchema, parts)) },
  });
}

function networkRbac(parts: RbacParts): Filter {
  const config = create(NetworkRbacSchema, { ...parts, statPrefix: "tcp." });
  return networkFilter("envoy.filters.network.rbac", pack(NetworkRbacSchema, config));
}

function decidedParts(inputs: AuthorizationInputs, tcp: boolean): readonly RbacParts[] {
  return [
    ...partsOf(inputs, tcp, Action.AUDIT, RBAC_Action.LOG),
    ...partsOf(inputs, tcp, Action.DENY, RBAC_Action.DENY),
    ...partsOf(inputs, tcp, Action.ALLOW, RBAC_Action.ALLOW),
  ];
}

/** Enforced rules and those on trial, of one action in one filter. */
function partsOf(
  { policies, trustDomains, callersBy }: AuthorizationInputs,
  tcp: boolean,
  of: Action,
  action: RBAC_Action,
): readonly RbacParts[] {
  const concerned = policies.filter(({ spec }) => spec.action === of);
  if (concerned.length === 0) return [];
  const rulesOf = (some: readonly Config<AuthorizationPolicy>[]) =>
    some.length === 0 ? undefined : rbacRules({ policies: some, action, tcp, trustDomains, callersBy });
  const rules = rulesOf(concerned.filter((policy) => !isDryRun(policy)));
  const shadowRules = rulesOf(concerned.filter(isDryRun));
  const shadowRulesStatPrefix = trialPrefix(shadowRules === undefined ? undefined : action);
  return [{ ...(rules && { rules }), ...(shadowRules && { shadowRules }), shadowRulesStatPrefix }];
}

/** As istiod names the statistics of rules on trial: rules that only log have no name. */
function trialPrefix(action: RBAC_Action | undefined): string {
  if (action === RBAC_Action.LOG) return "";
  return action === RBAC_Action.DENY ? "istio_dry_run_deny_" : "istio_dry_run_allow_";
}

function isDryRun({ annotations }: Config): boolean {
  return annotations["istio.io/dry-run"] === "true";
}

/** Marks the requests for a provider; those of a provider without an authorizer are denied. */
function customPart(
  { policies, trustDomains, authorizers, callersBy }: AuthorizationInputs,
  provider: string,
  tcp: boolean,
): RbacParts {
  const isAsked = authorizers.has(provider);
  const rules = rbacRules({
    policies: customPolicies(policies).filter((policy) => providerOf(policy) === provider),
    action: RBAC_Action.DENY,
    tcp,
    trustDomains,
    callersBy,
    prefix: `istio-ext-authz-${provider}-`,
    suffix: isAsked ? "" : "-deny-due-to-bad-CUSTOM-action",
  });
  return isAsked ? { shadowRules: rules, shadowRulesStatPrefix: shadowPrefix } : { rules, shadowRulesStatPrefix: "" };
}

function customPolicies(policies: readonly Config<AuthorizationPolicy>[]): readonly Config<AuthorizationPolicy>[] {
  return policies.filter((policy) => policy.spec.action === Action.CUSTOM && !isDryRun(policy));
}

function providerOf({ spec }: Config<AuthorizationPolicy>): string {
  return spec.actionDetail.case === "provider" ? spec.actionDetail.value.name : "";
}
