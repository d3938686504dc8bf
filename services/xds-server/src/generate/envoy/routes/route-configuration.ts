/** The name of a route configuration, what stands around its virtual hosts, and the domains that a virtual host answers to. */
import { isIpAddress, isIpv6 } from "@flotilla/model";
import { type Any, create } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";

export const maxDirectResponseBodyBytes = 1_048_576;

/** RouteConfiguration.virtual_hosts */
export const virtualHostsField = 2;

/** The field before the virtual hosts. */
export function routeConfigurationHead({ name }: { readonly name: string }) {
  return create(RouteConfigurationSchema, { name });
}

/** The fields behind the virtual hosts. Clusters may come later than the routes to them. */
export function routeConfigurationTail(more: { readonly typedPerFilterConfig?: Readonly<Record<string, Any>> } = {}) {
  return create(RouteConfigurationSchema, {
    ...more,
    validateClusters: false,
    maxDirectResponseBodySizeBytes: maxDirectResponseBodyBytes,
    ignorePortInHostMatching: true,
  });
}

/** Names of a service apart from its host name. */
export interface ServiceNames {
  readonly hostname: string;
  readonly aliases: readonly string[];
  readonly addresses: readonly string[];
  /** Pods of a headless service are called by `<pod>.<service>`. */
  readonly hasPodNames: boolean;
  /** True where names may be written with a dot at the end. */
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

/** Outside of Kubernetes: the name without the common suffix of both. */
function sharedDomainName(hostname: string, proxyDomain: string): readonly string[] {
  const [host, domain] = [hostname.split("."), proxyDomain.split(".")];
  let shared = 0;
  while (shared < host.length && shared < domain.length && host.at(-1 - shared) === domain.at(-1 - shared)) shared++;
  return shared === 0 || shared === host.length ? [] : [host.slice(0, host.length - shared).join(".")];
}

/** The parts of the name of a sidecar's route configuration. */
export interface ListenerRoute {
  /** 0 for listeners that take requests for any port. */
  readonly port: number;
  /**
   * The route is of one service, which has a listener of its own: its protocol is found out by sniffing, or it is known by its
   * address. The name is that of the virtual host.
   */
  readonly isOfOneService: boolean;
}

/** Undefined for names that no listener of a sidecar uses. */
export function parseRouteName(name: string): ListenerRoute | undefined {
  if (name === "http_proxy" || name.startsWith("unix://")) return { port: 0, isOfOneService: false };
  if (/^\d+$/.test(name)) return { port: Number(name), isOfOneService: false };
  const sniffed = /^[^|]+:(\d+)$/.exec(name);
  return sniffed === null ? undefined : { port: Number(sniffed[1]), isOfOneService: true };
}
