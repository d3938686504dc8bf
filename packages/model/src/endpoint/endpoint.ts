/** A network address at which instances of a service answer. */
import type { Labels } from "../config/selector.ts";

/** `unknown`: its health is not watched, as for the endpoints of a ServiceEntry; Envoy takes it for healthy. */
export type EndpointHealth = "healthy" | "unhealthy" | "draining" | "terminating" | "unknown";

export interface Endpoint {
  /** First the primary address; a Unix socket path or a host name is allowed (ServiceEntry). */
  readonly addresses: readonly string[];
  readonly servicePortName: string;
  /** The service's port, for endpoints of a ServiceEntry: entries of one host may give one name to several ports. */
  readonly servicePort?: number;
  readonly port: number;
  readonly labels: Labels;
  /** SPIFFE id of the workload, empty when unknown. */
  readonly serviceAccount: string;
  readonly network: string;
  /** `region/zone/subzone`, trailing parts may be missing. */
  readonly locality: string;
  readonly clusterId: string;
  /** 0 means the default weight 1. */
  readonly weight: number;
  /** `istio` (it takes mutual TLS) or `disabled`. */
  readonly tlsMode: "istio" | "disabled" | string;
  /** HBONE is ended for it, by itself or by the ztunnel of its node. */
  readonly takesHbone?: boolean;
  readonly namespace: string;
  readonly workloadName: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly nodeName?: string;
  readonly health: EndpointHealth;
  /** Send the endpoint although it is unhealthy: the service publishes not-ready addresses. */
  readonly sendUnhealthy?: boolean;
  /** Its cluster does not export the service (MCS): callers of other clusters do not see it. */
  readonly isClusterOnly?: boolean;
  /** The registry object it was made from, for explanations: `Pod/ns/name`, `WorkloadEntry/ns/name`. */
  readonly definedBy?: string;
}

/** Of endpoints that are chosen by their weights. */
export function totalWeight(endpoints: readonly Pick<Endpoint, "weight">[]): number {
  return endpoints.reduce((sum, { weight }) => sum + Math.max(weight, 1), 0);
}

/** The endpoints of one service in one shard, replaced or dropped as a whole. */
export interface EndpointsKey {
  /** `registry/cluster`. */
  readonly shard: string;
  readonly namespace: string;
  readonly hostname: string;
}

export function endpointsKeyText({ shard, namespace, hostname }: EndpointsKey): string {
  return `${shard}|${namespace}|${hostname}`;
}

/** A shard is named `registry/cluster`. */
export function parseShard(shard: string): { readonly registry: string; readonly clusterId: string } {
  const slash = shard.indexOf("/");
  return { registry: slash < 0 ? shard : shard.slice(0, slash), clusterId: shard.slice(slash + 1) };
}
