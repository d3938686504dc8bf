/** Filters that carry out a workload's policies, on requests and on connections. */
import type { Config } from "@flotilla/model";
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import type { AuthorizationPolicy } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import { authorizationPolicies, authorizationPoliciesByNamespace } from "../../snapshot/scope/authn.ts";
import { attachedPolicies, type PolicySubject } from "../../snapshot/scope/policy-targets.ts";
import { query, type View } from "../../snapshot/view.ts";
import type { Authorizer } from "../envoy/filters/authz/ext-authz.ts";
import {
  authorizationHttpFilters,
  authorizationNetworkFilters,
  connectionRulesAsHttpFilters,
  customProviders,
} from "../envoy/filters/authz/filters.ts";
import type { CallersBy } from "../envoy/filters/authz/rule.ts";
import type { PolicyFilters } from "../envoy/filters/extension-filters.ts";
import { authorizer } from "./authorizer.ts";
import { jwtFilters } from "./jwt.ts";

export interface AuthorizationFilters {
  readonly http: PolicyFilters<HttpFilter>;
  readonly network: PolicyFilters<Filter>;
}

export const authorizationFilters = query<AuthorizationFilters, PolicySubject>(
  "authorization-filters",
  (view, subject) => filtersOf(view, subject, view.proxy.type === "waypoint" ? "tunnel" : "certificate"),
);

/** Of a sidecar's own workload, for connections within HBONE tunnels. */
export const tunnelAuthorizationFilters = query<AuthorizationFilters>("tunnel-authorization-filters", (view) =>
  filtersOf(view, "", "tunnel"),
);

/**
 * Of a waypoint, or a sidecar that ends tunnels itself, before what is within its tunnels: the policies that a workload with its labels would have,
 * of which what asks for connections counts (ENABLE_LAYERED_WAYPOINT_AUTHORIZATION_POLICIES).
 */
export const layeredAuthorizationFilters = query<readonly HttpFilter[]>("layered-authorization-filters", (view) => {
  if (!view.feature("layeredWaypointPolicies")) return [];
  const namespaces = [...new Set([view.mesh.rootNamespace, view.proxy.namespace])];
  const all = namespaces.flatMap((namespace) => view.row(authorizationPoliciesByNamespace, namespace));
  return connectionRulesAsHttpFilters({
    policies: attachedPolicies(view, all),
    ...{ trustDomains: view.read(trustDomains), authorizers: new Map(), callersBy: "certificate" },
  });
});

function filtersOf(view: View, subject: PolicySubject, callersBy: CallersBy): AuthorizationFilters {
  const policies = view.read(authorizationPolicies, subject);
  const inputs = { policies, trustDomains: view.read(trustDomains), authorizers: askedOf(view, policies), callersBy };
  // Policies may have conditions on the claims of a token.
  const http = authorizationHttpFilters(inputs, jwtFilters(view, subject));
  return { http, network: authorizationNetworkFilters(inputs) };
}

/** Policies of several providers exclude each other, unless PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS is set. */
function askedOf(view: View, policies: readonly Config<AuthorizationPolicy>[]): ReadonlyMap<string, Authorizer> {
  const providers = customProviders(policies);
  if (providers.length > 1 && !view.feature("severalCustomProviders")) return new Map();
  return new Map(
    providers.flatMap((name) => {
      const found = authorizer(view, name);
      return found ? [[name, found]] : [];
    }),
  );
}

const trustDomains = query<readonly string[]>("trust-domains", ({ mesh }) => [
  ...new Set([mesh.trustDomain, ...mesh.trustDomainAliases]),
]);
