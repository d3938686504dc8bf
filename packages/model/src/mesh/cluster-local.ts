/**
 * Services that each cluster means its own of, whatever other clusters have under the same host.
 * Source: Istio's MeshConfig reference (serviceSettings).
 */
import { compareSpecificity, hostCovers } from "../names/host.ts";

export interface ClusterLocalRule {
  readonly host: string;
  readonly isLocal: boolean;
}

export interface ClusterLocalInputs {
  /** Of MeshConfig. */
  readonly serviceSettings: readonly {
    readonly hosts: readonly string[];
    readonly settings?: { readonly clusterLocal?: boolean } | undefined;
  }[];
  /** `host:port` of the control plane; empty: none. */
  readonly discoveryAddress: string;
  /** DNS suffix of Kubernetes services. */
  readonly domain: string;
}

/**
 * The first that covers a host decides. Users' rules, the most specific first, go before those that hold without any: the
 * control plane of a cluster and of its nodes is cluster-local.
 */
export function clusterLocalRules({
  serviceSettings,
  discoveryAddress,
  domain,
}: ClusterLocalInputs): readonly ClusterLocalRule[] {
  const configured = serviceSettings
    .flatMap(({ hosts, settings }) => hosts.map((host) => ({ host, isLocal: settings?.clusterLocal === true })))
    .sort((a, b) => compareSpecificity(a.host, b.host));
  const [discovery = ""] = discoveryAddress.split(":");
  const controlPlane = discovery.endsWith(".svc") ? `${discovery}.${domain}` : discovery;
  const usual = [`*.kube-system.svc.${domain}`, `kubernetes.default.svc.${domain}`, controlPlane];
  return [...configured, ...usual.filter((host) => host !== "").map((host) => ({ host, isLocal: true }))];
}

export function isClusterLocal(rules: readonly ClusterLocalRule[], hostname: string): boolean {
  return rules.find(({ host }) => hostCovers(host, hostname))?.isLocal ?? false;
}
