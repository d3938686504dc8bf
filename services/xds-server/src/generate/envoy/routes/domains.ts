/** The names by which callers may address a service: virtual-host domains. */
import { isIpAddress, isIpv6 } from "@flotilla/model";

/** Whatever names a service has apart from its host name. */
export interface ServiceNames {
  readonly hostname: string;
  readonly aliases: readonly string[];
  readonly addresses: readonly string[];
  /** Pods of a headless service are called by `<pod>.<service>`. */
  readonly hasPodNames: boolean;
  /** Whether names may be written with a dot at the end. */
  readonly mayEndInDot: boolean;
}

export interface Domains {
  readonly all: readonly string[];
  /** Those of them that are other forms of a name; they give way to services that are really called so. */
  readonly short: readonly string[];
}

/** `proxyDomain` is the caller's DNS search domain, `ns.svc.cluster.local`. */
export function serviceDomains(names: ServiceNames, proxyDomain: string): Domains {
  const short: string[] = [];
  const all = [names.hostname, ...names.aliases].flatMap((hostname) => {
    if (isIpAddress(hostname)) return [inUrl(hostname)];
    const absolute = names.mayEndInDot ? [`${hostname}.`] : [];
    const others = [...absolute, ...shortNames(hostname, proxyDomain)];
    short.push(...others);
    return [hostname, ...others];
  });
  const pods = names.hasPodNames ? all.map((domain) => `*.${domain}`) : [];
  return { all: [...all, ...names.addresses.map(inUrl), ...pods], short };
}

/** IPv6 addresses stand in brackets where a port may follow. */
export function inUrl(host: string): string {
  return isIpv6(host) ? `[${host}]` : host;
}

/** Requests on a listener for all ports name the port unless it is 80. */
export function withPort(domains: readonly string[], port: number): readonly string[] {
  return domains.flatMap((domain) => (port === 80 ? [domain, `${domain}:${port}`] : [`${domain}:${port}`]));
}

/** How a name is written within its DNS domain: `reviews`, `reviews.ns.svc`, `reviews.ns`. */
function shortNames(hostname: string, proxyDomain: string): readonly string[] {
  const inProxy = proxyDomain.indexOf(".svc.");
  if (inProxy < 0) return sharedDomainName(hostname, proxyDomain);
  const inHost = hostname.indexOf(".svc.");
  if (inHost <= 0 || hostname.slice(inHost) !== proxyDomain.slice(inProxy)) return [];
  const dot = hostname.indexOf(".");
  const [name, qualified] = [hostname.slice(0, dot), hostname.slice(0, inHost)];
  if (dot >= inHost) return [];
  return hostname.slice(dot + 1, inHost) === proxyDomain.slice(0, inProxy)
    ? [name, `${qualified}.svc`, qualified]
    : [qualified, `${qualified}.svc`];
}

/** Outside of Kubernetes: what is left when the shared end of both names is cut off. */
function sharedDomainName(hostname: string, proxyDomain: string): readonly string[] {
  const [host, domain] = [hostname.split("."), proxyDomain.split(".")];
  let shared = 0;
  while (shared < host.length && shared < domain.length && host.at(-1 - shared) === domain.at(-1 - shared)) shared++;
  return shared === 0 || shared === host.length ? [] : [host.slice(0, host.length - shared).join(".")];
}
