/** A service of the mesh as a ztunnel is sent it. */
import { type Config, compareText, isIpAddress, ownValue, type Service, takesAllocatedAddress } from "@flotilla/model";
import { ServiceEntry_Resolution as Resolution } from "@flotilla/proto/networking/v1alpha3/service_entry_pb";
import type { Binding } from "./binding.ts";
import {
  type GatewayFacts,
  type LoadBalancingFacts,
  type NetworkRange,
  networkRange,
  type ServiceFacts,
  type ServicePortFacts,
} from "./facts.ts";
import type { Waypoint } from "./waypoint.ts";

/** Fields of a ServiceEntry that its service lacks. */
export interface EntryTraits {
  /** By number, of ports that lead to another one. */
  readonly targetPorts: ReadonlyMap<number, number>;
  /** Addresses that a controller gave the host. */
  readonly statusAddresses: readonly string[];
}

interface EntrySpec {
  readonly resolution?: Resolution;
  readonly ports?: readonly { readonly number: number; readonly targetPort?: number }[];
}

interface EntryStatus {
  readonly addresses?: readonly { readonly value?: string; readonly host?: string }[];
}

/** Traits of a ServiceEntry that ztunnels receive beside its service. */
export function entryTraits({ labels, spec, status }: Config<EntrySpec>, hostname: string): EntryTraits {
  const targets = (spec.ports ?? []).flatMap(({ number, targetPort = 0 }) =>
    targetPort > 0 ? [[number, targetPort] as const] : [],
  );
  const { addresses = [] } = (status ?? {}) as EntryStatus;
  const given = addresses.filter(({ host = "", value = "" }) => host === hostname && isIpAddress(value));
  const isDynamic = spec.resolution === Resolution.DYNAMIC_DNS;
  const isTaken = takesAllocatedAddress(labels, hostname, isDynamic);
  const statusAddresses = isTaken ? given.map(({ value = "" }) => value) : [];
  return { targetPorts: new Map(targets), statusAddresses };
}

export interface ServiceContext {
  /** Of the cluster's own addresses. */
  readonly network: string;
  /** Networks of the addresses in other clusters, by cluster. */
  readonly remoteNetworks?: Readonly<Record<string, string>>;
  /** Of a ServiceEntry. */
  readonly entry?: EntryTraits;
  readonly binding: Binding;
  readonly ingressUsesWaypoint: boolean;
  readonly isCanonical: boolean;
  /** Callers of other namespaces do not see it. */
  readonly namespaceOnly: boolean;
}

export function serviceFacts(service: Service, context: ServiceContext): ServiceFacts {
  const { kubernetes } = service;
  const { binding, entry } = context;
  const loadBalancing = loadBalancingOf(service);
  return {
    kind: service.registry === "External" ? "ServiceEntry" : "Service",
    name: service.name,
    namespace: service.namespace,
    hostname: service.hostname,
    addresses: rangesOf(service, context),
    ...partFacts(service, entry),
    subjectAltNames: isDeclared(service) ? service.serviceAccounts : [],
    ...(loadBalancing === undefined ? {} : { loadBalancing }),
    ipFamilies: kubernetes?.ipFamilies ?? [],
    namespaceOnly: context.namespaceOnly,
    isCanonical: context.isCanonical,
    ingressUsesWaypoint: context.ingressUsesWaypoint,
    ...waypointFacts(binding),
  };
}

/** Facts by which a service selects and calls the workloads of its own cluster. */
export function partFacts(service: Service, entry?: EntryTraits): Pick<ServiceFacts, "ports" | "selector"> {
  const { labelSelectors, ports } = service;
  return {
    ports: ports.map((port) => portFacts(service, port, entry)),
    ...(labelSelectors === undefined || Object.keys(labelSelectors).length === 0 ? {} : { selector: labelSelectors }),
  };
}

/** ServiceEntries, and services of the registry file, which are their short form. */
function isDeclared({ registry }: Service): boolean {
  return registry === "External" || registry === "File";
}

export function gatewayFacts({ destination, port }: Waypoint): GatewayFacts {
  return { destination, port };
}

function waypointFacts({ waypoint, canary }: Binding): Pick<ServiceFacts, "waypoint" | "weightedWaypoints"> {
  if (waypoint === undefined) return {};
  const first = gatewayFacts(waypoint);
  if (canary === undefined) return { waypoint: first };
  const { weight } = canary;
  return {
    waypoint: first,
    weightedWaypoints: [
      { ...first, weight: 100 - weight },
      { ...gatewayFacts(canary.waypoint), weight },
    ],
  };
}

/** The addresses of a Kubernetes service in all clusters, each in the network of its cluster. */
function rangesOf(service: Service, { network, remoteNetworks, entry }: ServiceContext): readonly NetworkRange[] {
  if (service.registry !== "Kubernetes")
    return addressesOf(service, entry).flatMap((address) => networkRange(address, network));
  const ranges = Object.entries(service.clusterVips).flatMap(([cluster, vips]) => {
    const own = ownValue(remoteNetworks, cluster) ?? network;
    return vips.filter(isReachable).flatMap((vip) => networkRange(vip, own));
  });
  const byText = new Map(ranges.map((range) => [`${range.network}/${range.address}`, range]));
  const isOfSeveral = Object.keys(remoteNetworks ?? {}).length > 0;
  // In the order in which istiod joins them.
  const all = isOfSeveral ? [...byText].sort(([a], [b]) => compareText(a, b)) : [...byText];
  return all.map(([, range]) => range);
}

function addressesOf(service: Service, entry: EntryTraits | undefined): readonly string[] {
  const { addresses, defaultAddress, autoAllocatedIpv4, autoAllocatedIpv6 } = service;
  const own = (addresses ?? [defaultAddress]).filter((address) => address.includes("/") || isReachable(address));
  if (own.length > 0 || service.resolution === "passthrough") return own;
  if (entry !== undefined && entry.statusAddresses.length > 0) return entry.statusAddresses;
  return [autoAllocatedIpv4, autoAllocatedIpv6].filter((address) => address !== undefined);
}

function isReachable(address: string): boolean {
  return isIpAddress(address) && address !== "0.0.0.0" && address !== "::";
}

/** Each instance of Consul has the ports that it names itself. */
function portFacts(
  service: Service,
  { number, name, protocol }: Service["ports"][number],
  entry: EntryTraits | undefined,
): ServicePortFacts {
  const { kubernetes, passthroughTargetPorts } = service;
  if (isDeclared(service)) {
    const target = entry?.targetPorts.get(number) ?? ownValue(passthroughTargetPorts, String(number)) ?? number;
    return { number, name, protocol, target };
  }
  const target = ownValue(kubernetes?.targetPorts, String(number));
  if (target === undefined) return { number, name, protocol };
  return /^\d+$/.test(target)
    ? { number, name, protocol, target: Number(target) }
    : { number, name, protocol, targetName: target };
}

function loadBalancingOf(service: Service): LoadBalancingFacts | undefined {
  const { resolution, trafficDistribution, kubernetes } = service;
  if (isDeclared(service) && resolution === "passthrough")
    return { mode: "PASSTHROUGH", scopes: [], allowsUnhealthy: true };
  const allowsUnhealthy = kubernetes?.publishNotReadyAddresses === true;
  if (kubernetes?.nodeLocal === true) return { mode: "STRICT", scopes: ["NODE"], allowsUnhealthy };
  if (trafficDistribution !== undefined) {
    const near = ["NETWORK", "REGION", "ZONE"] as const;
    const scopes = trafficDistribution === "PreferSameNode" ? ([...near, "SUBZONE", "NODE"] as const) : near;
    return { mode: "FAILOVER", scopes, allowsUnhealthy };
  }
  return allowsUnhealthy ? { mode: "UNSPECIFIED_MODE", scopes: [], allowsUnhealthy } : undefined;
}
