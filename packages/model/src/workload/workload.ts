/**
 * A workload of the ambient mesh as its registry has it: a pod, a machine, an address that a ServiceEntry or an EndpointSlice
 * names, an instance of Consul's catalog, or an endpoint of the registry file. Services that select it by labels, waypoints and policies follow from it and other inputs, and are not part of it.
 */
import type { Labels } from "../config/selector.ts";

export type WorkloadKind =
  | "Pod"
  | "WorkloadEntry"
  | "ServiceEntry"
  | "EndpointSlice"
  | "ConsulInstance"
  | "FileEndpoint";

/** How callers reach it: in plain text, through the ztunnel of its node, or by HBONE of its own (`native`). */
export type WorkloadTunnel = "none" | "hbone" | "native";

/** A service that the workload belongs to without being selected by labels. */
export interface WorkloadMembership {
  readonly namespace: string;
  readonly hostname: string;
  readonly ports: readonly WorkloadPort[];
}

export interface WorkloadPort {
  readonly servicePort: number;
  readonly targetPort: number;
}

export interface Workload {
  readonly kind: WorkloadKind;
  readonly name: string;
  readonly namespace: string;
  /** Of the object; without one it counts as the oldest. */
  readonly creationTimeMs?: number;
  /** IP addresses, the primary one first; empty for a workload that is reached by name or through a gateway. */
  readonly addresses: readonly string[];
  /** Host name of a workload without an address. */
  readonly hostname?: string;
  /** The object's own labels; of an address in a ServiceEntry those of the ServiceEntry. */
  readonly labels: Labels;
  /** By which it is bound to a waypoint, where these are others: of an address in a ServiceEntry its own. */
  readonly bindingLabels?: Labels;
  readonly network: string;
  /** `region/zone/subzone`, trailing parts may be missing. */
  readonly locality: string;
  readonly clusterId: string;
  /** True for workloads of clusters other than the control plane's own. */
  readonly isRemote?: boolean;
  /** Of the namespace in such a cluster, if it exists. */
  readonly namespaceLabels?: Labels;
  /** The name alone, empty when unknown. */
  readonly serviceAccount: string;
  /** The Deployment or the like, for people. */
  readonly workloadName: string;
  readonly nodeName?: string;
  readonly isReady: boolean;
  /** The workload has the address of its node, as other workloads may. */
  readonly hostNetwork?: boolean;
  readonly tunnel: WorkloadTunnel;
  /** Share of the load, of all but pods and EndpointSlices. */
  readonly capacity?: number;
  /** Ports by name: those of a pod's containers, of a machine by the name of the service's port. */
  readonly ports: Readonly<Record<string, number>>;
  readonly memberOf?: readonly WorkloadMembership[];
}

export interface WorkloadKey {
  /** `registry/cluster`. */
  readonly shard: string;
  readonly namespace: string;
  /**
   * Unique in the mesh: `CLUSTER/GROUP/KIND/NAMESPACE/NAME`, for addresses within an object with the address behind it, for
   * instances of Consul's catalog with their datacenter, node and id. The group of Consul and the registry file is the registry.
   */
  readonly uid: string;
}

export function workloadKeyText({ shard, uid }: WorkloadKey): string {
  return `${shard}|${uid}`;
}

const groups: Readonly<Record<WorkloadKind, string>> = {
  Pod: "",
  WorkloadEntry: "networking.istio.io",
  ServiceEntry: "networking.istio.io",
  EndpointSlice: "discovery.k8s.io",
  ConsulInstance: "Consul",
  FileEndpoint: "File",
};

/** The name of the workload at ztunnels; `part`, an address mostly, for one of several of an object. */
export function workloadUid(
  { clusterId, kind, namespace, name }: Pick<Workload, "clusterId" | "kind" | "namespace" | "name">,
  part?: string,
): string {
  const own = `${clusterId}/${groups[kind]}/${kind}/${namespace}/${name}`;
  return part === undefined ? own : `${own}/${part}`;
}
