/** Services and endpoints as istiod's registry pages print them: tools read these field names. `DefinedBy` is ours. */
import {
  type Endpoint,
  type EndpointHealth,
  isUnsupported,
  type Resolution,
  type Service,
  type ServicePort,
} from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";

const resolutions: Readonly<Record<Resolution, number>> = {
  "client-side": 0,
  dns: 1,
  passthrough: 2,
  "dns-round-robin": 3,
  alias: 4,
  "dynamic-dns": 5,
};
const healths: Readonly<Record<EndpointHealth, number>> = {
  unknown: 0,
  healthy: 1,
  unhealthy: 2,
  draining: 3,
  terminating: 4,
};
const distributions: readonly (Service["trafficDistribution"] | undefined)[] = [
  undefined,
  "PreferSameZone",
  "PreferSameNode",
];

export function serviceJson(service: Service): JsonObject {
  const { hostname, namespace, name, registry, ports, kubernetes, defaultAddress, clusterVips, meshExternal } = service;
  return {
    Attributes: {
      ServiceRegistry: registry,
      Name: registry === "Kubernetes" ? name : hostname,
      Namespace: namespace,
      Labels: orNull(service.labels),
      ExportTo: service.exportTo.length === 0 ? null : Object.fromEntries(service.exportTo.map((to) => [to, {}])),
      LabelSelectors: orNull(service.labelSelectors ?? {}),
      ClusterExternalAddresses: { Addresses: lists(service.clusterExternalAddresses ?? {}) },
      ClusterExternalPorts: service.clusterExternalPorts === undefined ? null : json(service.clusterExternalPorts),
      Type: kubernetes?.type ?? "",
      ExternalName: kubernetes?.externalName ?? "",
      NodeLocal: kubernetes?.nodeLocal ?? false,
      PassthroughTargetPorts:
        service.passthroughTargetPorts === undefined ? null : { ...service.passthroughTargetPorts },
      TrafficDistribution: distributions.indexOf(service.trafficDistribution),
      ObjectName: registry === "External" ? name : "",
      PublishNotReadyAddresses: kubernetes?.publishNotReadyAddresses ?? false,
    },
    ports: ports.map(portJson),
    creationTime: new Date(service.creationTimeMs).toISOString(),
    hostname,
    clusterVIPs: { Addresses: lists(clusterVips) },
    defaultAddress,
    ...(service.autoAllocatedIpv4 !== undefined && { autoAllocatedIPv4Address: service.autoAllocatedIpv4 }),
    ...(service.autoAllocatedIpv6 !== undefined && { autoAllocatedIPv6Address: service.autoAllocatedIpv6 }),
    ...(service.serviceAccounts.length > 0 && { serviceAccounts: [...service.serviceAccounts] }),
    Resolution: resolutions[service.resolution],
    MeshExternal: meshExternal,
    ResourceVersion: service.resourceVersion ?? "",
  };
}

export function portJson({ name, number, protocol }: ServicePort): JsonObject {
  return {
    ...(name !== "" && { name }),
    port: number,
    protocol: isUnsupported(protocol) ? "UnsupportedProtocol" : protocol,
  };
}

export function endpointJson(endpoint: Endpoint): JsonObject {
  return {
    Labels: { ...endpoint.labels },
    Addresses: [...endpoint.addresses],
    ServicePortName: endpoint.servicePortName,
    LegacyClusterPortKey: endpoint.servicePort ?? 0,
    ServiceAccount: endpoint.serviceAccount,
    Network: endpoint.network,
    Locality: { Label: endpoint.locality, ClusterID: endpoint.clusterId },
    EndpointPort: endpoint.port,
    LbWeight: endpoint.weight,
    TLSMode: endpoint.tlsMode,
    Namespace: endpoint.namespace,
    WorkloadName: endpoint.workloadName,
    HostName: endpoint.hostname ?? "",
    SubDomain: endpoint.subdomain ?? "",
    HealthStatus: healths[endpoint.health],
    SendUnhealthyEndpoints: endpoint.sendUnhealthy ?? false,
    NodeName: endpoint.nodeName ?? "",
    DefinedBy: endpoint.definedBy ?? "",
  };
}

function json(ports: Readonly<Record<string, Readonly<Record<number, number>>>>): JsonObject {
  return Object.fromEntries(Object.entries(ports).map(([cluster, byPort]) => [cluster, { ...byPort }]));
}

function orNull(map: Readonly<Record<string, string>>): JsonObject | null {
  return Object.keys(map).length === 0 ? null : { ...map };
}

function lists(map: Readonly<Record<string, readonly string[]>>): JsonObject | null {
  const entries = Object.entries(map).map(([key, list]): [string, JsonValue] => [key, [...list]]);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}
