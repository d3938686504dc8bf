/** All row indexes of the world. A new one is defined beside the queries that read it and added here. */

import type { RowIndex } from "../row-index.ts";
import { peerAuthenticationsByNamespace } from "../scope/authn.ts";
import { authorizationPoliciesByNamespace } from "../scope/authz.ts";
import { backendTlsPolicies } from "../scope/backend-tls.ts";
import { destinationRulesByHost } from "../scope/destination-rules.ts";
import { gatewayIndex } from "../scope/gateways.ts";
import { gatewaysBySecret, grantingDestinationRules, referenceGrants } from "../scope/granted-secrets.ts";
import { hashingDestinationRules } from "../scope/hashed-hosts.ts";
import { kubernetesGatewayIndex, listenerSetsByParent, namespaceLabels } from "../scope/kubernetes-gateways.ts";
import { requestAuthenticationsByNamespace } from "../scope/request-authn.ts";
import { routeIndexes } from "../scope/route-virtual-services.ts";
import { ruledHosts } from "../scope/ruled-hosts.ts";
import { sidecarsByNamespace } from "../scope/sidecar.ts";
import { telemetriesByNamespace } from "../scope/telemetry.ts";
import { virtualServiceIndex } from "../scope/virtual-services.ts";

export const rowIndexes: readonly RowIndex<never>[] = [
  authorizationPoliciesByNamespace,
  backendTlsPolicies,
  destinationRulesByHost,
  gatewayIndex,
  gatewaysBySecret,
  grantingDestinationRules,
  hashingDestinationRules,
  kubernetesGatewayIndex,
  listenerSetsByParent,
  namespaceLabels,
  peerAuthenticationsByNamespace,
  referenceGrants,
  requestAuthenticationsByNamespace,
  ...routeIndexes,
  ruledHosts,
  sidecarsByNamespace,
  telemetriesByNamespace,
  virtualServiceIndex,
];
