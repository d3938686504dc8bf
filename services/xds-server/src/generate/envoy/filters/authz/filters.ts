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
  /** The authorizer that decides CUSTOM policies; undefined where there is none. */
  readonly authorizer: Authorizer | undefined;
  readonly callersBy: CallersBy;
}

/** Policies of several providers exclude each other: then there is none. */
export function customProvider(policies: readonly Config<AuthorizationPolicy>[]): string | undefined {
  const [only, ...others] = new Set(customPolicies(policies).map(providerOf));
  return others.length > 0 ? undefined : only;
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
  const asked =
    inputs.authorizer && customPolicies(inputs.policies).length > 0 ? [httpExtAuthz(inputs.authorizer)] : [];
  return {
    asked: [...customParts(inputs, false).map(httpRbac), ...asked],
    authentication,
    decided: decidedParts(inputs, false).map(httpRbac),
  };
}

export function authorizationNetworkFilters(inputs: AuthorizationInputs): PolicyFilters<Filter> {
  const asked = inputs.authorizer && networkExtAuthz(inputs.authorizer);
  const isAsked = asked !== undefined && customPolicies(inputs.policies).length > 0;
  // Connections pass where the authorizer supports requests only.
  const custom = inputs.authorizer === undefined || isAsked ? customParts(inputs, true) : [];
  return {
    asked: [...custom.map(networkRbac), ...(isAsked ? [asked] : [])],
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
  const isDenied = shadowRules !== undefined && action === RBAC_Action.DENY;
  return [
    {
      ...(rules && { rules }),
      ...(shadowRules && { shadowRules }),
      shadowRulesStatPrefix: isDenied ? "istio_dry_run_deny_" : "istio_dry_run_allow_",
    },
  ];
}

function isDryRun({ annotations }: Config): boolean {
  return annotations["istio.io/dry-run"] === "true";
}

/** Marks the requests for the one provider; where there is no authorizer, those that it was to decide are denied. */
function customParts(
  { policies, trustDomains, authorizer, callersBy }: AuthorizationInputs,
  tcp: boolean,
): readonly RbacParts[] {
  const custom = customPolicies(policies);
  return [...new Set(custom.map(providerOf))].sort().map((provider) => {
    const rules = rbacRules({
      policies: custom.filter((policy) => providerOf(policy) === provider),
      action: RBAC_Action.DENY,
      tcp,
      trustDomains,
      callersBy,
      prefix: `istio-ext-authz-${provider}-`,
      suffix: authorizer === undefined ? "-deny-due-to-bad-CUSTOM-action" : "",
    });
    return authorizer === undefined
      ? { rules, shadowRulesStatPrefix: "" }
      : { shadowRules: rules, shadowRulesStatPrefix: shadowPrefix };
  });
}

function customPolicies(policies: readonly Config<AuthorizationPolicy>[]): readonly Config<AuthorizationPolicy>[] {
  return policies.filter((policy) => policy.spec.action === Action.CUSTOM && !isDryRun(policy));
}

function providerOf({ spec }: Config<AuthorizationPolicy>): string {
  return spec.actionDetail.case === "provider" ? spec.actionDetail.value.name : "";
}
