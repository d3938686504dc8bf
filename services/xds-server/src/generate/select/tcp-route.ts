/** Where a TCP or TLS route of a VirtualService sends connections. */
import { type ConfigKey, clusterName, type Service } from "@flotilla/model";
import type { RouteDestination } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { visibleService } from "../../snapshot/scope/sidecar-scope.ts";
import type { View } from "../../snapshot/view.ts";
import { unknownCluster } from "../envoy/clusters/cluster-parts.ts";
import type { WeightedCluster } from "../envoy/filters/network-filters.ts";
import { statName } from "../envoy/stat-name.ts";
import { type TcpDestination, type TcpPolicy, tcpPolicy } from "./tcp-policy.ts";

export interface TcpRoute {
  readonly statPrefix: string;
  /** One cluster, or several that share by weight. */
  readonly clusters: string | readonly WeightedCluster[];
  readonly policy: TcpPolicy;
}

/** The port that connections arrive for, and the service that has it, if one does. */
export interface ArrivalPort {
  readonly number: number;
  readonly service: Service | undefined;
  /** Of the listener, where its name is part of statistics; those of default chains have none. */
  readonly name?: string | undefined;
}

/** @param key of the VirtualService */
export function tcpRoute(
  view: View,
  key: ConfigKey,
  destinations: readonly RouteDestination[],
  port: ArrivalPort,
): TcpRoute {
  const all = destinations.map((route) => ({ name: destinationCluster(view, port, route), weight: route.weight }));
  const [only] = all;
  const { host = "", subset = "" } = destinations[0]?.destination ?? {};
  if (all.length === 1 && only !== undefined) {
    return {
      statPrefix: outboundStatName(view, { ...port, service: visibleService(view, host) }, only.name, { host, subset }),
      clusters: only.name,
      policy: tcpPolicy(view, { host, subset }),
    };
  }
  return {
    statPrefix: `${key.name}.${key.namespace}`,
    clusters: all.filter(({ weight }) => weight > 0),
    policy: tcpPolicy(view, { host, subset: "" }),
  };
}

/** Without a port of its own the destination has its service's only one, else that of the service that was called. */
function destinationCluster(view: View, port: ArrivalPort, { destination }: RouteDestination): string {
  const { host = "", subset = "" } = destination ?? {};
  if (host === "") return unknownCluster;
  const [only, ...more] = visibleService(view, host)?.ports ?? [];
  const implied = only !== undefined && more.length === 0 ? only.number : port.number;
  return clusterName("outbound", destination?.port?.number || implied, subset, host);
}

/** The name by which a cluster's connections are counted: its own where the service of the port is not known. */
export function outboundStatName(
  view: View,
  port: ArrivalPort,
  cluster: string,
  { host, subset }: TcpDestination,
): string {
  const { service } = port;
  if (service === undefined) return cluster;
  const named = { number: port.number, name: port.name ?? "" };
  return statName(view.mesh.outboundClusterStatName, cluster, { hostname: host, service, subset, port: named });
}
