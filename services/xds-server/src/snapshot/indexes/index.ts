/** All row indexes of the world. A new one is defined beside the queries that read it and added here. */
import type { RowIndex } from "../row-index.ts";
import {
  authorizationPoliciesByNamespace,
  peerAuthenticationsByNamespace,
  requestAuthenticationsByNamespace,
} from "../scope/authn.ts";
import { secretsOfOtherClusters } from "../scope/cluster-secrets.ts";
import { destinationRulesByHost } from "../scope/destination-rules.ts";
import { envoyFiltersByNamespace, envoyFiltersByPlace, patchedKindsByNamespace } from "../scope/envoy-filters.ts";
import { gatewayIndex } from "../scope/gateways.ts";
import { grantingDestinationRules } from "../scope/granted-secrets.ts";
import {
  kubernetesGatewayIndex,
  listenerSetsByParent,
  namespaceLabels,
  referenceGrants,
} from "../scope/kubernetes-gateways.ts";
import { routeIndexes } from "../scope/route-plans.ts";
import { filterRouteIndexes } from "../scope/routes-with-filters.ts";
import { backendTlsPolicies, hashingDestinationRules, ruledHosts } from "../scope/ruled-hosts.ts";
import { sidecarsByNamespace } from "../scope/sidecar.ts";
import { telemetriesByNamespace } from "../scope/telemetry.ts";
import { trafficExtensionsByNamespace, wasmPluginsByNamespace } from "../scope/traffic-extensions.ts";
import { virtualServiceIndex } from "../scope/virtual-services.ts";

export const rowIndexes: readonly RowIndex<never>[] = [
  authorizationPoliciesByNamespace,
  backendTlsPolicies,
  destinationRulesByHost,
  envoyFiltersByNamespace,
  envoyFiltersByPlace,
  gatewayIndex,
  grantingDestinationRules,
  hashingDestinationRules,
  kubernetesGatewayIndex,
  listenerSetsByParent,
  namespaceLabels,
  patchedKindsByNamespace,
  peerAuthenticationsByNamespace,
  referenceGrants,
  requestAuthenticationsByNamespace,
  ...filterRouteIndexes,
  ...routeIndexes,
  ruledHosts,
  secretsOfOtherClusters,
  sidecarsByNamespace,
  telemetriesByNamespace,
  trafficExtensionsByNamespace,
  virtualServiceIndex,
  wasmPluginsByNamespace,
];
