/** A virtual host but for its content, as a short text: equal texts stand for equal hosts, whichever proxy asks. */
import type { Branded, Service } from "@flotilla/model";
import { serviceText } from "../../../snapshot/keys.ts";
import { servicesOfName } from "../../../snapshot/scope/services.ts";
import type { VirtualServiceName } from "../../../snapshot/scope/virtual-service.ts";
import type { View } from "../../../snapshot/view.ts";

export interface PlannedHost {
  readonly hostname: string;
  readonly port: number;
  /** Undefined for hosts of VirtualServices that no service stands for. */
  readonly service: Service | undefined;
  /** Whose routes it has; undefined: the service's own. */
  readonly virtualService: VirtualServiceName | undefined;
}

/** What `encodedVirtualHost` needs to know of a host. */
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
  /** Whether backends are told how often a request was tried. */
  readonly countsAttempts: boolean;
  /** Domains that other hosts have. */
  readonly withoutDomains: readonly string[];
}

interface ServiceReference {
  readonly namespace: string;
  readonly registry: string;
  readonly name: string;
}

export type PlanText = Branded<"HostPlan">;

export function planText(plan: HostPlan): PlanText {
  const { service, takesAll, countsAttempts, aliases, withoutDomains } = plan;
  const from = service === undefined ? 0 : [service.namespace, service.registry, service.name];
  const parts = [plan.hostname, plan.port, plan.listenPort, from, plan.virtualService ?? 0, plan.proxyDomain];
  const isPlain = !takesAll && countsAttempts && aliases.length + withoutDomains.length === 0;
  return JSON.stringify(isPlain ? parts : [...parts, takesAll, countsAttempts, aliases, withoutDomains]) as PlanText;
}

export function parsePlan(text: PlanText): HostPlan {
  const [
    hostname,
    port,
    listenPort,
    from,
    virtualService,
    proxyDomain,
    takesAll = false,
    countsAttempts = true,
    aliases = [],
    withoutDomains = [],
  ] = JSON.parse(text) as PlanTuple;
  const service = from === 0 ? undefined : { namespace: from[0], registry: from[1], name: from[2] };
  return {
    hostname,
    port,
    listenPort,
    service,
    virtualService: virtualService === 0 ? undefined : virtualService,
    proxyDomain,
    takesAll,
    countsAttempts,
    aliases,
    withoutDomains,
  };
}

type PlanTuple = [
  hostname: string,
  port: number,
  listenPort: number,
  service: 0 | [namespace: string, registry: string, name: string],
  virtualService: 0 | VirtualServiceName,
  proxyDomain: string,
  takesAll?: boolean,
  countsAttempts?: boolean,
  aliases?: readonly string[],
  withoutDomains?: readonly string[],
];

/** The service of a plan as it is now. */
export function plannedService(view: View, { hostname, service }: HostPlan): Service | undefined {
  if (service === undefined) return undefined;
  return view
    .read(servicesOfName, serviceText.write({ namespace: service.namespace, hostname }))
    .find(({ registry, name }) => registry === service.registry && name === service.name);
}
