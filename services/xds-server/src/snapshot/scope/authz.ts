/** The AuthorizationPolicies that hold for the proxy's workload: the root namespace's, then its own namespace's. */
import type { Config } from "@flotilla/model";
import type { AuthorizationPolicy } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { byNamespace } from "../row-index.ts";
import { query } from "../view.ts";

export const authorizationPoliciesByNamespace = byNamespace<AuthorizationPolicy>("AuthorizationPolicy");

export const authorizationPolicies = query<readonly Config<AuthorizationPolicy>[]>("authorization-policies", (view) => {
  const { proxy, mesh } = view;
  const policies = [...new Set([mesh.rootNamespace, proxy.namespace])]
    .flatMap((namespace) => view.row(authorizationPoliciesByNamespace, namespace))
    .filter(({ spec }) => spec.targetRef === undefined && spec.targetRefs.length === 0);
  return proxy.selecting(policies, ({ spec }) => spec.selector?.matchLabels ?? {});
});
