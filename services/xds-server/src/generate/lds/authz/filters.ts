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
import { networkFilter } from "../network/filters.ts";
import { rbacRules } from "./rbac.ts";

export interface AuthorizationInputs {
  readonly policies: readonly Config<AuthorizationPolicy>[];
  readonly trustDomains: readonly string[];
}

type RbacParts = Pick<ReturnType<typeof create<typeof HttpRbacSchema>>, "shadowRulesStatPrefix"> & {
  readonly rules?: ReturnType<typeof rbacRules>;
  readonly shadowRules?: ReturnType<typeof rbacRules>;
};

export function authorizationHttpFilters(inputs: AuthorizationInputs): readonly HttpFilter[] {
  return allParts(inputs, false).map((parts) =>
    create(HttpFilterSchema, {
      name: "envoy.filters.http.rbac",
      configType: { case: "typedConfig", value: pack(HttpRbacSchema, create(HttpRbacSchema, parts)) },
    }),
  );
}

export function authorizationNetworkFilters(inputs: AuthorizationInputs): readonly Filter[] {
  return allParts(inputs, true).map((parts) => {
    const config = create(NetworkRbacSchema, { ...parts, statPrefix: "tcp." });
    return networkFilter("envoy.filters.network.rbac", pack(NetworkRbacSchema, config));
  });
}

function allParts(inputs: AuthorizationInputs, tcp: boolean): readonly RbacParts[] {
  return [
    ...customParts(inputs, tcp),
    ...partsOf(inputs, tcp, Action.AUDIT, RBAC_Action.LOG),
    ...partsOf(inputs, tcp, Action.DENY, RBAC_Action.DENY),
    ...partsOf(inputs, tcp, Action.ALLOW, RBAC_Action.ALLOW),
  ];
}

/** Enforced rules and those on trial, of one action in one filter. */
function partsOf(
  { policies, trustDomains }: AuthorizationInputs,
  tcp: boolean,
  of: Action,
  action: RBAC_Action,
): readonly RbacParts[] {
  const concerned = policies.filter(({ spec }) => spec.action === of);
  if (concerned.length === 0) return [];
  const rulesOf = (some: readonly Config<AuthorizationPolicy>[]) =>
    some.length === 0 ? undefined : rbacRules({ policies: some, action, tcp, trustDomains });
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

/** A provider that cannot be asked denies what it was to decide. */
function customParts({ policies, trustDomains }: AuthorizationInputs, tcp: boolean): readonly RbacParts[] {
  const custom = policies.filter((policy) => policy.spec.action === Action.CUSTOM && !isDryRun(policy));
  const providers = [...new Set(custom.map(providerOf))].sort();
  return providers.map((provider) => ({
    rules: rbacRules({
      policies: custom.filter((policy) => providerOf(policy) === provider),
      action: RBAC_Action.DENY,
      tcp,
      trustDomains,
      prefix: `istio-ext-authz-${provider}-`,
      suffix: "-deny-due-to-bad-CUSTOM-action",
    }),
    shadowRulesStatPrefix: "",
  }));
}

function providerOf({ spec }: Config<AuthorizationPolicy>): string {
  return spec.actionDetail.case === "provider" ? spec.actionDetail.value.name : "";
}
