/** Names of the clusters from a waypoint to the services behind it: `inbound-vip|80|http/v1|host`. */
import { type ClusterName, clusterName, isHttp, isUnsupported, type Protocol, parseClusterName } from "@flotilla/model";

/** The layer that is carried: requests, or connections as they are. */
export type Layer = "http" | "tcp";

export interface VipCluster {
  readonly port: number;
  readonly layer: Layer;
  readonly subset: string;
  readonly hostname: string;
}

export function vipClusterName({ port, layer, subset, hostname }: VipCluster): ClusterName {
  return clusterName("inbound-vip", port, subset === "" ? layer : `${layer}/${subset}`, hostname);
}

/** Undefined when `text` is no such name. */
export function parseVipCluster(text: string): VipCluster | undefined {
  const parts = parseClusterName(text);
  if (parts === undefined || parts.direction !== "inbound-vip") return undefined;
  const [layer = "", ...rest] = parts.subset.split("/");
  if (layer !== "http" && layer !== "tcp") return undefined;
  return { port: parts.port, layer, subset: rest.join("/"), hostname: parts.hostname };
}

/** Ports without a protocol carry both; nothing is carried over UDP. */
export function layersOf(protocol: Protocol): readonly Layer[] {
  if (protocol === "UDP") return [];
  if (isUnsupported(protocol)) return ["tcp", "http"];
  return [isHttp(protocol) ? "http" : "tcp"];
}
