/** The domains of a virtual host of a sidecar. */
import type { Service } from "@flotilla/model";
import { reachableAddresses } from "../../../snapshot/scope/service-addresses.ts";
import type { View } from "../../../snapshot/view.ts";
import { type Domains, inUrl, serviceDomains, withPort } from "../../envoy/routes/domains.ts";

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
            addresses: addressesOf(view, service),
            mayEndInDot: view.feature("absoluteFqdnDomains"),
            hasPodNames: service.resolution === "passthrough" && service.registry === "Kubernetes",
          },
          proxyDomain,
        );
  // A host that no service stands for is called without a port (virtual-host-plan.ts).
  if (listenPort !== 0 || service === undefined) return domains;
  // Only the first address needs the port to be named. Source: istiod asked, a service of both families.
  const further = new Set(addressesOf(view, service).slice(1).map(inUrl));
  const all = domains.all.flatMap((domain) => [
    ...(further.has(domain) && port !== 80 ? [domain] : []),
    ...withPort([domain], port),
  ]);
  return { ...domains, all };
}

/** A range stands among the domains as it is written, though nobody can call it so. So istiod does it. */
function addressesOf(view: View, service: Service): readonly string[] {
  const addresses = reachableAddresses(view, service);
  const range = [service.defaultAddress, ...(service.addresses ?? [])].find((address) => address.includes("/"));
  return addresses.length > 0 || range === undefined ? addresses : [range];
}

/**
 * The caller's domain as far as it matters for the short names of a host: hosts of other namespaces look alike from
 * everywhere. With aliases, which may be of any namespace, it matters whole.
 */
export function relevantDomain(hostname: string, proxyDomain: string): string {
  const inProxy = proxyDomain.indexOf(".svc.");
  if (inProxy < 0) return proxyDomain;
  const inHost = hostname.indexOf(".svc.");
  const suffix = proxyDomain.slice(inProxy);
  if (inHost < 0 || hostname.slice(inHost) !== suffix) return "";
  const isSameNamespace = hostname.slice(hostname.indexOf(".") + 1, inHost) === proxyDomain.slice(0, inProxy);
  return isSameNamespace ? proxyDomain : `~${suffix}`;
}
