/** All analyzers, in the order of their names. */
import type { Analyzer } from "../analyzer.ts";
import { alphaAnnotations, annotations } from "./annotations.ts";
import { authorizationPolicies } from "./authorization.ts";
import { claimedHosts } from "./claimed-hosts.ts";
import { clusterServices } from "./cluster-services.ts";
import { concernedWorkloads } from "./concerned-workloads.ts";
import { conditions } from "./conditions.ts";
import { applicationUser, deploymentServices } from "./deployments.ts";
import { deprecated } from "./deprecated.ts";
import { destinationRuleHosts, serverVerification } from "./destination-rules.ts";
import { gatewaySubsets, routeDestinations, routeSubsets } from "./destinations.ts";
import { envoyFilters } from "./envoy-filters.ts";
import { externalControlPlane } from "./external-control-plane.ts";
import { gatewayApiVersions, gatewaySelectors } from "./gateway-api.ts";
import { gatewayCertificates, gatewayConflicts } from "./gateway-conflicts.ts";
import { gatewayCredentials, gatewayPorts } from "./gateway-workloads.ts";
import { impossibleMatches, impossibleRules } from "./impossible-conditions.ts";
import { injectedNamespaces, podsWithoutProxy } from "./injection.ts";
import { issuerAddresses, networkRegistries } from "./installation.ts";
import { meshHostConflicts } from "./mesh-hosts.ts";
import { portNames } from "./port-names.ts";
import { automaticImages, proxyImages } from "./proxy-images.ts";
import { claimRoutes, routeGateways } from "./route-gateways.ts";
import { namespaceTelemetries, sidecarSelectors, telemetrySelectors } from "./selectors.ts";
import { serviceEntryAddresses, serviceEntryProtocols } from "./service-entries.ts";
import { shadowedMatches } from "./shadowed-matches.ts";
import { telemetryProviders } from "./telemetry-providers.ts";
import { validity } from "./validity.ts";
import { injectionWebhooks } from "./webhooks.ts";

export function createAnalyzers(): readonly Analyzer[] {
  return [
    alphaAnnotations,
    annotations,
    applicationUser,
    authorizationPolicies,
    automaticImages,
    claimRoutes,
    claimedHosts,
    clusterServices,
    concernedWorkloads,
    conditions,
    deploymentServices,
    deprecated,
    destinationRuleHosts,
    envoyFilters,
    externalControlPlane,
    gatewayApiVersions,
    gatewayCertificates,
    gatewayConflicts,
    gatewayCredentials,
    gatewayPorts,
    gatewaySelectors,
    gatewaySubsets,
    impossibleMatches,
    impossibleRules,
    injectedNamespaces,
    injectionWebhooks,
    issuerAddresses,
    meshHostConflicts,
    namespaceTelemetries,
    networkRegistries,
    podsWithoutProxy,
    portNames,
    proxyImages,
    routeDestinations,
    routeGateways,
    routeSubsets,
    serverVerification,
    serviceEntryAddresses,
    serviceEntryProtocols,
    shadowedMatches,
    sidecarSelectors,
    telemetryProviders,
    telemetrySelectors,
    validity(),
  ];
}

/** Kinds of which the published configuration has no objects, or not all. */
const unpublished: ReadonlySet<string> = new Set([
  "Deployment",
  "MutatingWebhookConfiguration",
  "Node",
  "Pod",
  "RemoteService",
  "Secret",
  "Service",
  "WorkloadEntry",
]);

/**
 * Those that look at published configuration alone, but for those that report what others report already. @param alsoKnown kinds whose objects are
 * known from elsewhere
 */
export function configurationAnalyzers(...alsoKnown: readonly string[]): readonly Analyzer[] {
  const isUnknown = (kind: string): boolean => unpublished.has(kind) && !alsoKnown.includes(kind);
  const isReportedElsewhere = (name: string): boolean => name === "conditions" || name === "validity";
  return createAnalyzers().filter(
    ({ name, reads, isOptional }) => isOptional !== true && !isReportedElsewhere(name) && !reads.some(isUnknown),
  );
}
