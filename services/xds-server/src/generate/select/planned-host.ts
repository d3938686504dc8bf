/**
 * A virtual host but for its content: as a short text, where equal texts stand for equal hosts whichever proxy asks, and with the
 * domains that are its own. Envoy refuses a route configuration in which a domain occurs twice.
 */
import { compareText, type Service, type TextOf, textCodec } from "@flotilla/model";
import { serviceText } from "../../snapshot/row-index.ts";
import { reachableAddresses, routedAddresses, servicesOfName } from "../../snapshot/scope/services.ts";
import type { VirtualServiceName } from "../../snapshot/scope/virtual-service.ts";
import type { View } from "../../snapshot/view.ts";
import { type Domains, inUrl, serviceDomains, withPort } from "../envoy/routes/route-configuration.ts";
import { addsAttemptCount } from "./proxy-headers.ts";

export interface PlannedHost {
  readonly hostname: string;
  readonly port: number;
  /** Undefined for hosts of VirtualServices that no service stands for. */
  readonly service: Service | undefined;
  /** Whose routes it has; undefined: the service's own. */
  readonly virtualService: VirtualServiceName | undefined;
}

/** The inputs of `encodedVirtualHost` for a host. */
export interface HostPlan {
  readonly hostname: string;
  readonly port: number;
  /** Port of the listener; 0 when it takes requests for any. */
  readonly listenPort: number;
  readonly service: ServiceReference | undefined;
  readonly virtualService: VirtualServiceName | undefined;
  /** Alone on its listener: every domain is its. */
  readonly takesAll: boolean;
  /** Stands for the caller's DNS domain, as far as it matters for the short names of this host. */
  readonly proxyDomain: string;
  readonly aliases: readonly string[];
  /** True where requests to backends carry the attempt count. */
  readonly countsAttempts: boolean;
  /** Domains that other hosts have. */
  readonly withoutDomains: readonly string[];
}

const serviceReference = textCodec("ServiceReference", "/", ["namespace", "registry", "name"]);
type ServiceReference = ReturnType<typeof serviceReference.read>;

/** Lists are written with spaces, absent parts as nothing. The domain is the client's own word, which may hold anything: it comes last. */
const planFields = textCodec<
  "HostPlan",
  {
    readonly hostname: string;
    readonly port: string;
    readonly listenPort: string;
    readonly service: TextOf<typeof serviceReference> | "";
    readonly virtualService: VirtualServiceName | "";
    readonly takesAll: "all" | "";
    readonly countsAttempts: "counted" | "";
    readonly aliases: string;
    readonly withoutDomains: string;
    readonly proxyDomain: string;
  }
>("HostPlan", "|", [
  ...(["hostname", "port", "listenPort", "service", "virtualService"] as const),
  ...(["takesAll", "countsAttempts", "aliases", "withoutDomains", "proxyDomain"] as const),
]);

export type PlanText = TextOf<typeof planFields>;

/** The identity of a host: equal texts are the same host, whichever proxy asks. */
export const hostPlan = {
  write: (plan: HostPlan): PlanText =>
    planFields.write({
      hostname: plan.hostname,
      port: plan.port,
      listenPort: plan.listenPort,
      service: plan.service === undefined ? "" : serviceReference.write(plan.service),
      virtualService: plan.virtualService ?? "",
      takesAll: plan.takesAll ? "all" : "",
      countsAttempts: plan.countsAttempts ? "counted" : "",
      aliases: plan.aliases.join(" "),
      withoutDomains: plan.withoutDomains.join(" "),
      proxyDomain: plan.proxyDomain,
    }),
  read: (text: PlanText): HostPlan => {
    const parts = planFields.read(text);
    const { service, virtualService } = parts;
    return {
      hostname: parts.hostname,
      port: Number(parts.port),
      listenPort: Number(parts.listenPort),
      service: service === "" ? undefined : serviceReference.read(service),
      virtualService: virtualService === "" ? undefined : virtualService,
      takesAll: parts.takesAll !== "",
      countsAttempts: parts.countsAttempts !== "",
      aliases: listOf(parts.aliases),
      withoutDomains: listOf(parts.withoutDomains),
      proxyDomain: parts.proxyDomain,
    };
  },
};

function listOf(text: string): readonly string[] {
  return text === "" ? [] : text.split(" ");
}

/** The service of a plan as it is now. */
export function plannedService(view: View, { hostname, service }: HostPlan): Service | undefined {
  if (service === undefined) return undefined;
  return view
    .read(servicesOfName, serviceText.write({ namespace: service.namespace, hostname }))
    .find(({ registry, name }) => registry === service.registry && name === service.name);
}

/** The domains of a virtual host of a sidecar. */
interface Host {
  readonly hostname: string;
  readonly port: number;
  readonly listenPort: number;
  readonly proxyDomain: string;
  readonly aliases: readonly string[];
}

/** A host without a service is called by its name alone. Envoy compares hosts in lower case. */
export function hostDomains(view: View, host: Host, service: Service | undefined): Domains {
  const { port, listenPort, proxyDomain } = host;
  const [hostname = "", ...aliases] = [host.hostname, ...host.aliases].map((name) => name.toLowerCase());
  const domains =
    service === undefined
      ? { all: [hostname], short: [] }
      : serviceDomains(
          {
            hostname,
            aliases,
            addresses: addressesOf(view, service, listenPort),
            mayEndInDot: view.feature("absoluteFqdnDomains"),
            hasPodNames: service.resolution === "passthrough" && service.registry === "Kubernetes",
          },
          proxyDomain,
        );
  // A host that no service stands for is called without a port (virtual-host-plan.ts).
  if (listenPort !== 0 || service === undefined) return domains;
  // Only the first address needs the port to be named. Source: istiod asked, a service of both families.
  const further = new Set(addressesOf(view, service, listenPort).slice(1).map(inUrl));
  const all = domains.all.flatMap((domain) => [
    ...(further.has(domain) && port !== 80 ? [domain] : []),
    ...withPort([domain], port),
  ]);
  return { ...domains, all };
}

/** A range stands among the domains as it is written, though no caller can name it so. So istiod does it. */
function addressesOf(view: View, service: Service, listenPort: number): readonly string[] {
  const addresses = listenPort === 0 ? reachableAddresses(view, service) : routedAddresses(view, service);
  const range = [service.defaultAddress, ...(service.addresses ?? [])].find((address) => address.includes("/"));
  return addresses.length > 0 || range === undefined ? addresses : [range];
}

/**
 * The caller's domain as far as it matters for the short names of a host: hosts of other namespaces look alike from
 * everywhere. With aliases, which may be of any namespace, it matters whole.
 */
function relevantDomain(hostname: string, proxyDomain: string): string {
  const inProxy = proxyDomain.indexOf(".svc.");
  if (inProxy < 0) return proxyDomain;
  const inHost = hostname.indexOf(".svc.");
  const suffix = proxyDomain.slice(inProxy);
  if (inHost < 0 || hostname.slice(inHost) !== suffix) return "";
  const isSameNamespace = hostname.slice(hostname.indexOf(".") + 1, inHost) === proxyDomain.slice(0, inProxy);
  return isSameNamespace ? proxyDomain : `~${suffix}`;
}

/** The first comer keeps a domain; a host that is left without any is reported. Ordered by name. */
export function assignDomains(
  view: View,
  hosts: readonly PlannedHost[],
  listenPort: number,
  aliasesOf: (service: Service) => readonly string[],
): readonly HostPlan[] {
  const { dnsDomain } = view.proxy;
  const countsAttempts = view.read(addsAttemptCount);
  const realNames = new Set(hosts.flatMap(({ service }) => (service === undefined ? [] : [service.hostname])));
  const [used, names, hostnames] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const assigned: HostPlan[] = [];
  for (const host of hosts) {
    const { hostname, port, service, virtualService } = host;
    const aliases = service === undefined ? [] : aliasesOf(service);
    const proxyDomain = aliases.length > 0 ? dnsDomain : relevantDomain(hostname, dnsDomain);
    const plan = { hostname, port, listenPort, proxyDomain, aliases };
    const { all, short } = hostDomains(view, plan, service);
    const isFirst = !hostnames.has(hostname);
    hostnames.add(hostname);
    // Of the ports of a service on one listener only the first may be called without naming it.
    const isFree = (domain: string) =>
      (isFirst || listenPort !== 0 || domain.endsWith(`:${port}`)) &&
      !used.has(domain.toLowerCase()) &&
      !(realNames.has(domain) && short.includes(domain));
    const free = all.filter(isFree);
    if (names.has(hostName(plan)) || free.length === 0) {
      reportDuplicate(view, host);
      continue;
    }
    names.add(hostName(plan));
    const withoutDomains = free.length === all.length ? [] : all.filter((domain) => !isFree(domain));
    for (const domain of free) used.add(domain.toLowerCase());
    assigned.push({ ...plan, service, virtualService, takesAll: false, countsAttempts, withoutDomains });
  }
  return assigned.sort((a, b) => compareText(hostName(a), hostName(b)));
}

/** The virtual host's name. */
export function hostName({ hostname, port }: Pick<HostPlan, "hostname" | "port">): string {
  return `${inUrl(hostname)}:${port}`;
}

function reportDuplicate(view: View, { hostname, port, virtualService }: PlannedHost): void {
  view.report({
    metric: "pilot_vservice_dup_domain",
    object: virtualService === undefined ? hostname : `VirtualService/${virtualService}`,
    message: `${hostname}:${port} has routes already`,
  });
}
