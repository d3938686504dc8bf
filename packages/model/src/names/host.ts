/** Host names with an optional leading wildcard label, as in VirtualService hosts and ServiceEntry hosts. */

import { isIpAddress } from "./address.ts";

export type Hostname = string;

export function isWildcard(host: Hostname): boolean {
  return host.startsWith("*");
}

/** Do the two overlap: is there a name that both cover? `*.com` and `foo.com` do, `*` covers everything. */
export function hostsOverlap(a: Hostname, b: Hostname): boolean {
  const [aWild, bWild] = [isWildcard(a), isWildcard(b)];
  if (aWild && bWild) {
    const [shorter, longer] = a.length <= b.length ? [a, b] : [b, a];
    return longer.endsWith(shorter.slice(1));
  }
  if (aWild) return b.endsWith(a.slice(1));
  if (bWild) return a.endsWith(b.slice(1));
  return a === b;
}

/** Does `outer` cover every name that `inner` covers? */
export function hostCovers(outer: Hostname, inner: Hostname): boolean {
  if (isWildcard(outer)) {
    if (outer.length > inner.length && isWildcard(inner)) return false;
    return isWildcard(inner) ? inner.slice(1).endsWith(outer.slice(1)) : inner.endsWith(outer.slice(1));
  }
  return !isWildcard(inner) && outer === inner;
}

/** More specific first: exact before wildcard, longer before shorter, then by code unit. */
export function compareSpecificity(a: Hostname, b: Hostname): number {
  const [aWild, bWild] = [isWildcard(a), isWildcard(b)];
  if (aWild !== bWild) return aWild ? 1 : -1;
  return b.length - a.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The host a rule in `namespace` means: names without a dot are completed with namespace and domain, where known. */
export function resolveShortName(host: Hostname, namespace: string, domain: string): Hostname {
  if (host === "" || host === "*" || host.includes(".") || isIpAddress(host)) return host;
  return [host, namespace, domain === "" ? "" : `svc.${domain}`].filter((part) => part !== "").join(".");
}

const inCluster = ".svc.";

/** The DNS suffix in the host name of a Service of Kubernetes; empty for other hosts. */
export function clusterDomainOf(host: Hostname): string {
  const at = host.indexOf(inCluster);
  return at === -1 ? "" : host.slice(at + inCluster.length);
}

/** The domain of hosts that mean a service of all clusters. Source: Kubernetes' multi-cluster services API. */
export const clusterSetDomain = "clusterset.local";

export function isClusterSetHost(host: Hostname): boolean {
  return host.endsWith(`${inCluster}${clusterSetDomain}`);
}

/** The host name of a Service, `NAME.NAMESPACE.svc.DOMAIN`. */
export function serviceHostname(name: string, namespace: string, domain: string): string {
  return `${name}.${namespace}.svc.${domain}`;
}
