/** Deals domains out to virtual hosts: Envoy refuses a route configuration in which one occurs twice. */
import { compareText, type Service } from "@flotilla/model";
import type { VirtualServiceHead } from "../../snapshot/scope/virtual-services.ts";
import type { View } from "../../snapshot/view.ts";
import { inUrl, serviceDomains, withPort } from "./domains.ts";
import { serviceNames } from "./service-names.ts";
import { sessionText } from "./session.ts";

/** A host on a port, before domains are dealt out. */
export interface PlannedHost {
  readonly hostname: string;
  readonly port: number;
  readonly service: Service | undefined;
  /** Whose routes it has; undefined: the service's own. */
  readonly virtualService: VirtualServiceHead | undefined;
}

/** A virtual host but for its routes; flat, so that its text can stand for it. */
export interface HostWithDomains {
  readonly name: string;
  readonly domains: readonly string[];
  /** `namespace/name|port` of the VirtualService, or `hostname|port` of the service. */
  readonly routesOf: { readonly virtualService: string } | { readonly service: string };
  readonly session: string;
}

/** The first comer keeps a domain; a host that is left without any is reported. Ordered by name. */
export function assignDomains(
  view: View,
  hosts: readonly PlannedHost[],
  listenPort: number,
): readonly HostWithDomains[] {
  const proxyDomain = view.proxy.dnsDomain;
  const realNames = new Set(hosts.flatMap(({ service }) => (service === undefined ? [] : [service.hostname])));
  const used = new Set<string>();
  const names = new Set<string>();
  const assigned: HostWithDomains[] = [];
  for (const host of hosts) {
    const { hostname, port, service, virtualService } = host;
    const name = `${inUrl(hostname)}:${port}`;
    const wanted =
      service === undefined ? { all: [hostname], short: [] } : serviceDomains(serviceNames(view, service), proxyDomain);
    const allowed = wanted.all.filter((domain) => !wanted.short.includes(domain) || !realNames.has(domain));
    const free = (listenPort === 0 ? withPort(allowed, port) : allowed).filter(
      (domain) => !used.has(domain.toLowerCase()),
    );
    if (names.has(name) || free.length === 0) {
      reportDuplicate(view, host);
      continue;
    }
    names.add(name);
    for (const domain of free) used.add(domain.toLowerCase());
    assigned.push({
      name,
      domains: [...new Set(free)],
      routesOf:
        virtualService === undefined
          ? { service: `${hostname}|${port}` }
          : { virtualService: `${virtualService.name}|${listenPort}` },
      session: service === undefined ? "" : sessionText(service.labels),
    });
  }
  return assigned.sort((a, b) => compareText(a.name, b.name));
}

function reportDuplicate(view: View, { hostname, port, virtualService }: PlannedHost): void {
  view.report({
    metric: "pilot_vservice_dup_domain",
    object: virtualService === undefined ? hostname : `VirtualService/${virtualService.name}`,
    message: `${hostname}:${port} has routes already`,
  });
}
