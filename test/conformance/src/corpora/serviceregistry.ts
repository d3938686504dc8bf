/** Corpus serviceregistry: Kubernetes Services, ServiceEntries and WorkloadEntries held against Istio's service model. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  type Config,
  creationTimeMs,
  type Endpoint,
  type KubeObject,
  type Labels,
  type Service,
  serviceHostname,
} from "@flotilla/model";
import {
  backendProtocol,
  convertKubernetesService,
  convertServiceEntry,
  type EndpointContext,
  hashedAddresses,
  mergedWorkloadEntry,
  podWorkload,
  type SelectableWorkload,
  selectedByServiceEntry,
  serviceEntryEndpoints,
} from "@flotilla/registry/convert";
import type { CaseResult } from "./corpus.ts";

interface Case {
  readonly name: string;
  readonly function: string;
  // The arguments are of the case's function: each driver below has their types.
  readonly args: readonly never[];
  readonly expected: { readonly returns: readonly unknown[] };
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return cases.map(runCase);
}

function runCase({ name, function: called, args, expected }: Case): CaseResult {
  const driver = drivers[called];
  if (driver === undefined) return { name, passed: false, detail: `${called} has no counterpart here` };
  try {
    const got = toSecond(JSON.parse(JSON.stringify(driver(...args))));
    const want = toSecond(expected.returns[0]);
    if (isDeepStrictEqual(got, want)) return { name, passed: true };
    if (lostStatus(called, args, want))
      return { name, passed: false, detail: "the recording left out the status with the addresses" };
    return { name, passed: false, detail: `want ${JSON.stringify(want)}, got ${JSON.stringify(got)}` };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}

/** Addresses that stand in an entry's status cannot be found where the recorded entry has no status. */
function lostStatus(called: string, [entry]: readonly unknown[], want: unknown): boolean {
  if (called !== "convertServices" || (entry as KubeObject)["status"] !== undefined) return false;
  return JSON.stringify(want).includes("AutoAllocated");
}

type Driver = (...args: never[]) => unknown;

const drivers: Readonly<Record<string, Driver>> = {
  ConvertService: (
    service: KubeObject,
    namespaceAnnotations: Labels | null,
    domain: string,
    clusterId: string,
    trustDomain: string,
  ) =>
    goService(
      convertKubernetesService(service, {
        domain,
        clusterId,
        trustDomain,
        namespaceAnnotations: namespaceAnnotations ?? {},
      }),
      "",
    ),
  ServiceHostname: serviceHostname,
  SecureNamingSAN: (pod: KubeObject, trustDomain: string) => podWorkload(pod, context("", trustDomain)).serviceAccount,
  convertServices: (entry: KubeObject, namespaceAnnotations: Labels | null, canonicalExternalServices: boolean) =>
    convertServiceEntry(configOf(entry), {
      namespaceAnnotations: namespaceAnnotations ?? {},
      canonicalExternalServices,
      statusAddresses: true,
    }).flatMap(
      // One service with all addresses here, one service for each address there.
      (service) =>
        (service.addresses ?? [service.defaultAddress]).map((defaultAddress) =>
          goService({ ...service, defaultAddress }, creationOf(entry)),
        ),
    ),
  convertServiceEntryToInstances: (
    _: unknown,
    entry: KubeObject,
    service: GoService,
    _mesh: unknown,
    clusterId: string,
  ) =>
    serviceEntryEndpoints(configOf(entry), service.Hostname, context(clusterId, "cluster.local")).map((endpoint) =>
      goInstance(endpoint, service),
    ),
  convertWorkloadInstanceToServiceInstance: (
    instance: GoWorkloadInstance,
    service: GoService,
    ports: Parameters<typeof selectedByServiceEntry>[1],
  ) => selectedByServiceEntry(selectable(instance), ports).map((endpoint) => goInstance(endpoint, service)),
  ConvertWorkloadEntry: (entry: KubeObject) => mergedWorkloadEntry(configOf(entry)),
  autoAllocateIPs: (services: readonly GoService[]) => {
    const resolutions = ["client-side", "dns", "passthrough", "dns-round-robin", "alias", "dynamic-dns"] as const;
    const allocated = hashedAddresses(
      services.map(({ Hostname, DefaultAddress, Attributes, Resolution = 0 }) => ({
        ...emptyService,
        hostname: Hostname,
        namespace: Attributes?.Namespace ?? "",
        defaultAddress: DefaultAddress,
        resolution: resolutions[Resolution] ?? "client-side",
      })),
    );
    return services.map((service, index) => ({ ...service, ...allocation(allocated[index]) }));
  },
  backendProtocolToServiceEntryProtocol: backendProtocol,
};

interface GoService {
  readonly Hostname: string;
  readonly DefaultAddress: string;
  readonly Attributes?: { readonly Namespace?: string };
  readonly Resolution?: number;
  readonly Ports?: readonly { readonly Name: string; readonly Port: number }[];
}

interface GoWorkloadInstance {
  readonly Endpoint: {
    readonly Addresses: readonly string[];
    readonly Labels?: Labels;
    readonly Namespace: string;
    readonly Network?: string;
    readonly Locality?: { readonly Label?: string; readonly ClusterID?: string };
    readonly ServiceAccount?: string;
    readonly TLSMode: string;
    readonly WorkloadName: string;
  };
  readonly PortMap?: Readonly<Record<string, number>>;
}

function selectable({ Endpoint: endpoint, PortMap: ports = {} }: GoWorkloadInstance): SelectableWorkload {
  return {
    kind: "WorkloadEntry",
    workload: {
      labels: endpoint.Labels ?? {},
      serviceAccount: endpoint.ServiceAccount ?? "",
      network: endpoint.Network ?? "",
      locality: endpoint.Locality?.Label ?? "",
      clusterId: endpoint.Locality?.ClusterID ?? "",
      tlsMode: endpoint.TLSMode,
      namespace: endpoint.Namespace,
      workloadName: endpoint.WorkloadName,
    },
    addresses: endpoint.Addresses,
    weight: 0,
    ports,
    byNameOnly: false,
    definedBy: "",
  };
}

function goService(service: Service, created: string): unknown {
  const resolutions = ["client-side", "dns", "passthrough", "dns-round-robin", "alias", "dynamic-dns"];
  const { kubernetes, clusterExternalAddresses: external, clusterExternalPorts: ports } = service;
  const isExternal = service.registry === "External";
  const distributions = ["", "PreferSameZone", "PreferSameNode"];
  return goObject(
    {
      Hostname: service.hostname,
      Attributes: goObject({
        Name: isExternal ? service.hostname : service.name,
        Namespace: service.namespace,
        ServiceRegistry: service.registry,
        Labels: service.labels,
        LabelSelectors: service.labelSelectors,
        ExportTo: service.exportTo,
        ClusterExternalAddresses: external === undefined ? undefined : { Addresses: external },
        ClusterExternalPorts: ports,
        PassthroughTargetPorts: service.passthroughTargetPorts,
        K8sAttributes: goObject({
          ObjectName: isExternal ? service.name : "",
          Type: kubernetes?.type,
          ExternalName: kubernetes?.externalName,
          NodeLocal: kubernetes?.nodeLocal,
          PublishNotReadyAddresses: kubernetes?.publishNotReadyAddresses,
          TrafficDistribution: distributions.indexOf(service.trafficDistribution ?? ""),
        }),
      }),
      Ports: service.ports.map(({ name, number, protocol }) => ({ Name: name, Port: number, Protocol: protocol })),
      ClusterVIPs: isExternal ? undefined : { Addresses: service.clusterVips },
      DefaultAddress: service.defaultAddress,
      MeshExternal: service.meshExternal,
      Resolution: resolutions.indexOf(service.resolution),
      CreationTime: created,
      ...allocation(service),
      ...(isExternal && service.serviceAccounts.length === 0 ? {} : { ServiceAccounts: [...service.serviceAccounts] }),
    },
    ["ServiceAccounts"],
  );
}

function allocation(service: Service | undefined): Readonly<Record<string, string>> {
  return {
    ...(service?.autoAllocatedIpv4 === undefined ? {} : { AutoAllocatedIPv4Address: service.autoAllocatedIpv4 }),
    ...(service?.autoAllocatedIpv6 === undefined ? {} : { AutoAllocatedIPv6Address: service.autoAllocatedIpv6 }),
  };
}

function goInstance(endpoint: Endpoint, service: GoService): unknown {
  const port = service.Ports?.find(({ Name }) => Name === endpoint.servicePortName);
  return {
    Endpoint: goObject({
      Addresses: endpoint.addresses,
      EndpointPort: endpoint.port,
      Labels: endpoint.labels,
      LegacyClusterPortKey: port?.Port,
      LbWeight: endpoint.weight,
      Locality: goObject({ ClusterID: endpoint.clusterId, Label: endpoint.locality }),
      Namespace: endpoint.namespace,
      Network: endpoint.network,
      ServiceAccount: endpoint.serviceAccount,
      ServicePortName: endpoint.servicePortName,
      TLSMode: endpoint.tlsMode,
      WorkloadName: endpoint.workloadName,
    }),
    Service: service,
    ServicePort: port,
  };
}

/** Leaves out what Go's JSON leaves out: zero values. */
function goObject(fields: Readonly<Record<string, unknown>>, keep: readonly string[] = []): unknown {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => keep.includes(name) || !isZero(value)));
}

function isZero(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === 0 || value === false;
}

/** Recorded creation times have fractions that their inputs have not. */
function toSecond(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSecond);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      name === "CreationTime" && typeof item === "string" ? item.replace(/\.\d+Z$/, "Z") : toSecond(item),
    ]),
  );
}

function creationOf({ metadata }: KubeObject): string {
  return metadata.creationTimestamp ?? "";
}

function configOf(object: KubeObject): Config {
  const { name, namespace = "", labels = {}, annotations = {} } = object.metadata;
  const time = creationTimeMs(object);
  const key = { kind: object.kind, namespace, name };
  return { key, labels, annotations, creationTimeMs: time, spec: object["spec"], status: object["status"] };
}

function context(clusterId: string, trustDomain: string): EndpointContext {
  return {
    clusterId,
    trustDomain,
    dualStack: false,
    persistentSessionLabel: "",
    networkOf: () => "",
    systemNetwork: "",
    nodeOf: () => undefined,
  };
}

const emptyService: Service = {
  hostname: "",
  namespace: "",
  name: "",
  registry: "External",
  ports: [],
  resolution: "client-side",
  meshExternal: true,
  defaultAddress: "0.0.0.0",
  clusterVips: {},
  creationTimeMs: 0,
  labels: {},
  exportTo: [],
  serviceAccounts: [],
  definedBy: "",
};
