/** The plain data by which the endpoints of one cluster are chosen and ordered. */
import { type Endpoint, type IpMode, type NamespaceMutualTls, ownValue, parseLocality } from "@flotilla/model";
import type { LocalityLoadBalancerSetting } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { FarCalls, GatewaysByNetwork, TunnelUse } from "./reached-endpoint.ts";

export interface EndpointInputs {
  readonly clusterName: string;
  /** By shard (`registry/cluster`). */
  readonly shards: ReadonlyMap<string, readonly Endpoint[]>;
  /** Undefined: those of all ports. */
  readonly portName: string | undefined;
  /** The service's port where endpoints are part of the cluster; 0 where they are distinguished by the port's name. */
  readonly portNumber: number;
  /** JSON of the labels an endpoint must have. */
  readonly subset: string;
  /** As of `workloadRevision`: that of the endpoints; "" for any. */
  readonly ownWorkload: string;
  readonly sendsUnhealthy: boolean;
  readonly keepsSessions: boolean;
  /** Endpoints name their workloads, for telemetry of callers. */
  readonly namesWorkloads: boolean;
  /** The node to which an `internalTrafficPolicy: Local` keeps requests; empty for all nodes. */
  readonly node: string;
  /** Endpoints may be called by the mesh's TLS, as far as their PeerAuthentications let them. */
  readonly takesMeshTls: boolean;
  /** Endpoints that do not end the mesh's TLS are left out. */
  readonly needsMeshTls: boolean;
  /** Undefined where a DestinationRule decides alone. */
  readonly peers: NamespaceMutualTls | undefined;
  readonly isDualStack: boolean;
  readonly tunnels: TunnelUse;
  /** JSON of `WaypointDestinations`, for a service whose endpoints here are its waypoint's; "" elsewhere. */
  readonly behindWaypoint: string;
  /** The service as `host:port` where gateways of other networks are called by HBONE; else "". */
  readonly remoteTarget: string;
  readonly farCalls: FarCalls;
  readonly network: string;
  /** Families of addresses of gateways that the proxy calls. */
  readonly ipMode: IpMode;
  readonly resolvesNames: boolean;
  /** Networks whose endpoints the proxy asks for, separated by commas; empty for all. */
  readonly networkView: string;
  readonly gateways: GatewaysByNetwork;
  /** The setting for priorities and shares of localities, if there is one. */
  readonly setting: LocalityLoadBalancerSetting | undefined;
  /** The order of endpoints that are alike by `failoverPriority`: none, by distance, or by region only. */
  readonly failsOverBy: "labels" | "distance" | "region";
  /** The proxy's: `region/zone/subzone`. */
  readonly locality: string;
  /** JSON of the proxy's values of the labels in `failoverPriority`. */
  readonly ownLabels: string;
}

export const noLocality = { setting: undefined, failsOverBy: "labels" as const, locality: "", ownLabels: "{}" };

/** Unknown clusters have an assignment too: an empty one, so that a client does not wait for it. */
export function unknownCluster(clusterName: string): EndpointInputs {
  return { ...nothing, clusterName };
}

const nothing: Omit<EndpointInputs, "clusterName"> = {
  shards: new Map(),
  portName: "",
  portNumber: 0,
  subset: "{}",
  ownWorkload: "",
  sendsUnhealthy: false,
  keepsSessions: false,
  namesWorkloads: true,
  node: "",
  takesMeshTls: true,
  needsMeshTls: false,
  peers: undefined,
  isDualStack: false,
  tunnels: "none",
  behindWaypoint: "",
  remoteTarget: "",
  farCalls: "direct-or-gateway",
  network: "",
  ipMode: "dual",
  resolvesNames: false,
  networkView: "",
  gateways: new Map(),
  ...noLocality,
};

/**
 * Pods of one ReplicaSet in one region: requests are divided evenly among these, not among the revisions of a Deployment.
 * @param labelOf of the workload
 */
export function workloadRevision(
  workloadName: string,
  region: string,
  labelOf: (name: string) => string | undefined,
): string {
  const hashes = ["pod-template-hash", "rollouts-pod-template-hash"].map((name) => labelOf(name) ?? "");
  return JSON.stringify([workloadName, region, ...hashes]);
}

export function revisionOf({ workloadName, locality, labels }: Endpoint): string {
  return workloadRevision(workloadName, parseLocality(locality).region, (name) => ownValue(labels, name));
}
