/** A service of the mesh, whichever registry it comes from. */
import type { LabelSelector } from "../config/label-selector.ts";
import type { Labels } from "../config/selector.ts";
import { ownValue } from "../json/own-value.ts";
import { isWildcard } from "../names/host.ts";
import type { Protocol } from "./protocol.ts";

export interface ServicePort {
  readonly name: string;
  readonly number: number;
  readonly protocol: Protocol;
}

/**
 * How the caller's proxy finds an address: by load balancing over known endpoints, by DNS, by the
 * caller's original destination, or as another name of another service (`alias`, an ExternalName).
 */
export type Resolution = "client-side" | "dns" | "dns-round-robin" | "dynamic-dns" | "passthrough" | "alias";

/** `Kubernetes` also covers services of other clusters; `External` is a ServiceEntry. */
export type RegistryName = "Kubernetes" | "External" | "Consul" | "File" | "Mock";

/** The namespaces that may see an object: `*` all, `.` its own namespace, `~` none, or a namespace. */
export type Visibility = string;

export interface Service {
  readonly hostname: string;
  readonly namespace: string;
  /** The object's own name: of the Kubernetes Service or the ServiceEntry. */
  readonly name: string;
  readonly registry: RegistryName;
  readonly ports: readonly ServicePort[];
  readonly resolution: Resolution;
  readonly meshExternal: boolean;
  /** `0.0.0.0` when the service has no address of its own. */
  readonly defaultAddress: string;
  /** By cluster; a dual-stack service has several a cluster. ServiceEntry addresses stand under the empty cluster id or the config cluster's. */
  readonly clusterVips: Readonly<Record<string, readonly string[]>>;
  /** All addresses of a ServiceEntry that has several, the default address first; ranges in CIDR form. */
  readonly addresses?: readonly string[];
  readonly autoAllocatedIpv4?: string;
  readonly autoAllocatedIpv6?: string;
  readonly creationTimeMs: number;
  readonly labels: Labels;
  /** The selector over workloads; absent for services without. */
  readonly labelSelectors?: Labels;
  /** Empty: the mesh's default applies. */
  readonly exportTo: readonly Visibility[];
  /** Identities that may stand behind the service: SPIFFE ids or, for ServiceEntries, `subjectAltNames`. */
  readonly serviceAccounts: readonly string[];
  readonly kubernetes?: KubernetesServiceTraits;
  /** Addresses by which it is reached from outside of a cluster, by cluster id. */
  readonly clusterExternalAddresses?: Readonly<Record<string, readonly string[]>>;
  /** NodePorts: cluster id → service port → node port. */
  readonly clusterExternalPorts?: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /** Of a ServiceEntry whose callers choose the address: service port → port that they are sent to there. */
  readonly passthroughTargetPorts?: Readonly<Record<number, number>>;
  /** Preference of the Service, its annotation or its namespace; `PreferClose` is the old name of `PreferSameZone`. */
  readonly trafficDistribution?: "PreferSameZone" | "PreferSameNode";
  /** Callers connect to all addresses of a name at once and keep the first connection: `istio.io/connect-strategy` of a ServiceEntry. */
  readonly racesConnections?: boolean;
  /** The resource that defines it: `ServiceEntry/ns/name` or `Service/ns/name`. */
  readonly definedBy: string;
  /** Kubernetes: `Service` uid or the like; absent for others. */
  readonly resourceVersion?: string;
  /** Set in ambient meshes for services of other clusters. */
  readonly remote?: RemoteServiceTraits;
  /** Set in ambient meshes for the gateway through which ztunnels reach another cluster's network. It is not called by name. */
  readonly hboneGateway?: RemoteGateway;
  /** Set in ambient meshes for another cluster's Gateway that may be the waypoint of services and workloads there. It is not called by name. */
  readonly waypoint?: RemoteWaypoint;
}

/** Facts of another cluster on which callers elsewhere depend; its namespaces are not part of the configuration. */
export interface RemoteServiceTraits {
  readonly network: string;
  /** Absent if the cluster has no such namespace. */
  readonly namespaceLabels?: Labels;
  /** Of the namespace's annotations the share of a second waypoint. */
  readonly namespaceAnnotations?: Labels;
}

/** An east-west gateway that takes HBONE. */
export interface RemoteGateway {
  /** The network behind the gateway. */
  readonly network: string;
  /** IP addresses and host names. */
  readonly addresses: readonly string[];
  readonly serviceAccount: string;
}

/** The fields of a Gateway by which it is a waypoint. */
export interface RemoteWaypoint {
  /** Of its cluster. */
  readonly network: string;
  readonly gatewayClass: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly listeners: readonly {
    readonly port?: number;
    readonly protocol?: string;
    readonly allowedRoutes?: {
      readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    };
  }[];
  /** Of its status. */
  readonly addresses: readonly { readonly type: string; readonly value: string }[];
}

export interface KubernetesServiceTraits {
  /** ClusterIP, NodePort, LoadBalancer, ExternalName. */
  readonly type: string;
  readonly externalName?: string;
  /** True for internalTrafficPolicy Local. */
  readonly nodeLocal: boolean;
  readonly publishNotReadyAddresses: boolean;
  readonly headless: boolean;
  readonly externalTrafficPolicyLocal?: boolean;
  /** `service.spec.ports[].targetPort` by port number, for ports of pods found by selector. */
  readonly targetPorts: Readonly<Record<number, string>>;
  /** `IPv4`, `IPv6` or both, as the cluster gave them. */
  readonly ipFamilies?: readonly string[];
  /** Persistent-session label and the like are read from `labels`; annotations that matter stand here. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One service may stand in several shards (clusters); this names one of them. */
export interface ServiceKey {
  /** `registry/cluster`. */
  readonly shard: string;
  readonly namespace: string;
  readonly hostname: string;
  /** The object that defines it: two ServiceEntries of one namespace may have the same host. */
  readonly name: string;
}

export function serviceKeyText({ shard, namespace, hostname, name }: ServiceKey): string {
  return `${shard}|${namespace}|${hostname}|${name}`;
}

/**
 * Selects the hosts of ServiceEntries that automatic addresses are for: not where the entry opts out, and not a wildcard, which stands for many
 * hosts. Source: Istio's label reference, istiod asked. @param isDynamic the proxy that is called resolves each host, so that a wildcard has an
 * address too
 */
export function takesAllocatedAddress(labels: Labels, hostname: string, isDynamic: boolean): boolean {
  const choice = ownValue(labels, "networking.istio.io/enable-autoallocate-ip");
  return choice?.toLowerCase() !== "false" && (isDynamic || !isWildcard(hostname));
}
