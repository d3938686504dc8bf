/** Names of Envoy clusters in Istio's form: `direction|port|subset|host`. */
import type { Branded } from "./text-codec.ts";

export type Direction = "outbound" | "inbound" | "inbound-vip" | "inbound-pod" | "outbound_" | "connect_originate";
export type ClusterName = Branded<"ClusterName">;

/** The cluster of an Envoy's bootstrap in which it finds its own workload, where its node metadata has ENABLE_SELF_DISCOVERY. */
export const ownClusterName = "local_cluster" as ClusterName;

export interface ClusterNameParts {
  readonly direction: string;
  readonly port: number;
  readonly subset: string;
  readonly hostname: string;
}

export function clusterName(direction: Direction, port: number, subset: string, hostname: string): ClusterName {
  return `${direction}|${port}|${subset}|${hostname}` as ClusterName;
}

/** Undefined when `name` does not have the form. */
export function parseClusterName(name: string): ClusterNameParts | undefined {
  const parts = name.split("|");
  const [direction, port, subset, hostname] = parts;
  if (
    parts.length !== 4 ||
    direction === undefined ||
    port === undefined ||
    subset === undefined ||
    hostname === undefined
  )
    return undefined;
  if (!isPort(port)) return undefined;
  return { direction, port: Number(port), subset, hostname };
}

/** The SNI by which a gateway between networks finds the cluster, which has the same name there: `outbound_.80_.v1_.host`. */
export function sniName(direction: Direction, port: number, subset: string, hostname: string): ClusterName {
  return `${direction}_.${port}_.${subset}_.${hostname}` as ClusterName;
}

/** Undefined when `name` does not have the form. */
export function parseSniName(name: string): ClusterNameParts | undefined {
  const [direction, port, subset, ...rest] = name.split("_.");
  const hostname = rest.join("_.");
  if (direction === undefined || port === undefined || subset === undefined || hostname === "") return undefined;
  if (!isPort(port)) return undefined;
  return { direction, port: Number(port), subset, hostname };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d*)$/.test(text);
}
