/**
 * Filters that carry out AuthorizationPolicies in a gRPC server: RBAC filters that deny, then one that allows. gRPC supports no other
 * actions: CUSTOM and AUDIT policies have no effect there, and dry-run policies are enforced, as with istiod.
 */
import { type Config, compareText } from "@flotilla/model";
import { create, pack } from "@flotilla/proto";
import { type Policy, RBAC_Action, RBACSchema } from "@flotilla/proto/envoy/config/rbac/v3/rbac_pb";
import { RBACSchema as HttpRbacSchema } from "@flotilla/proto/envoy/extensions/filters/http/rbac/v3/rbac_pb";
import {
  type HttpFilter,
  HttpFilterSchema,
} from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import {
  AuthorizationPolicy_Action as Action,
  type AuthorizationPolicy,
} from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { authorizationPolicies } from "../../snapshot/scope/authn.ts";
import { query } from "../../snapshot/view.ts";
import { neverPolicy, rulePolicy } from "../envoy/filters/authz/rbac.ts";

export const serverAuthorization = query<readonly HttpFilter[]>("grpc-authorization", (view) => {
  const policies = view.read(authorizationPolicies, "");
  const of = (action: Action) => policies.filter(({ spec }) => spec.action === action);
  const denied = policiesByName(of(Action.DENY), RBAC_Action.DENY);
  const allowed = policiesByName(of(Action.ALLOW), RBAC_Action.ALLOW);
  // differs: policies that allow nothing deny everything; istiod leaves the server open (decision 0207).
  const [first] = allowed.length > 0 ? [] : of(Action.ALLOW);
  return [
    ...rbacFilter("envoy.filters.http.rbac.DENY", RBAC_Action.DENY, denied),
    ...rbacFilter(
      "envoy.filters.http.rbac",
      RBAC_Action.ALLOW,
      first === undefined ? allowed : [[policyName(first, 0), neverPolicy]],
    ),
  ];
});

type NamedPolicy = readonly [name: string, policy: Policy];

function policiesByName(policies: readonly Config<AuthorizationPolicy>[], action: RBAC_Action): readonly NamedPolicy[] {
  return policies
    .flatMap((policy) =>
      policy.spec.rules.flatMap((rule, index): NamedPolicy[] => {
        const { namespace } = policy.key;
        // Other trust domains of the mesh are not read into principals here. Source: istiod asked.
        const matching = { tcp: false, widens: action === RBAC_Action.DENY, namespace, trustDomains: [] };
        const built = rulePolicy(rule, matching);
        return built === undefined ? [] : [[policyName(policy, index), built]];
      }),
    )
    .sort(([a], [b]) => compareText(a, b));
}

function policyName({ key }: Config<AuthorizationPolicy>, index: number): string {
  return `${key.namespace}-${key.name}-${index}`;
}

/** gRPC's filters have a name each: two of one name are refused. */
function rbacFilter(name: string, action: RBAC_Action, policies: readonly NamedPolicy[]): readonly HttpFilter[] {
  if (policies.length === 0) return [];
  const rules = create(RBACSchema, { action, policies: Object.fromEntries(policies) });
  const value = pack(HttpRbacSchema, create(HttpRbacSchema, { rules }));
  return [create(HttpFilterSchema, { name, configType: { case: "typedConfig", value } })];
}
