/** Deals domains out to virtual hosts: Envoy refuses a route configuration in which one occurs twice. */
import { compareText } from "@flotilla/model";
import { aliasesOf } from "../../../snapshot/scope/aliases.ts";
import type { View } from "../../../snapshot/view.ts";
import { inUrl } from "../../envoy/routes/domains.ts";
import { tellsAttempts } from "../../select/proxy-headers.ts";
import { hostDomains, relevantDomain } from "./host-domains.ts";
import type { HostPlan, PlannedHost } from "./planned-host.ts";

/** The first comer keeps a domain; a host that is left without any is reported. Ordered by name. */
export function assignDomains(view: View, hosts: readonly PlannedHost[], listenPort: number): readonly HostPlan[] {
  const { dnsDomain } = view.proxy;
  const countsAttempts = view.read(tellsAttempts);
  const realNames = new Set(hosts.flatMap(({ service }) => (service === undefined ? [] : [service.hostname])));
  const [used, names, hostnames] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const assigned: HostPlan[] = [];
  for (const host of hosts) {
    const { hostname, port, service, virtualService } = host;
    const aliases = service === undefined ? [] : aliasesOf(view, hostname);
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
