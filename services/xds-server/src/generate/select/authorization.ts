/** What carries out a workload's policies, on requests and on connections. */
import type { Filter } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { HttpFilter } from "@flotilla/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb";
import { authorizationPolicies } from "../../snapshot/scope/authn.ts";
import { query } from "../../snapshot/view.ts";
import {
  authorizationHttpFilters,
  authorizationNetworkFilters,
  customProvider,
} from "../envoy/filters/authz/filters.ts";
import type { PolicyFilters } from "../envoy/filters/extension-filters.ts";
import { jwtFilters } from "./jwt.ts";
import { authorizer } from "./outside-service.ts";

export interface AuthorizationFilters {
  readonly http: PolicyFilters<HttpFilter>;
  readonly network: PolicyFilters<Filter>;
}

export const authorizationFilters = query<AuthorizationFilters>("authorization-filters", (view) => {
  const policies = view.read(authorizationPolicies);
  const provider = customProvider(policies);
  const asked = provider === undefined ? undefined : authorizer(view, provider);
  const inputs = { policies, trustDomains: view.read(trustDomains), authorizer: asked };
  // Policies may ask for what a token says.
  const http = authorizationHttpFilters(inputs, jwtFilters(view));
  return { http, network: authorizationNetworkFilters(inputs) };
});

export const trustDomains = query<readonly string[]>("trust-domains", ({ mesh }) => [
  ...new Set([mesh.trustDomain, ...mesh.trustDomainAliases]),
]);
