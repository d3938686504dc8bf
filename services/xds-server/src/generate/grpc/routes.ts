/**
 * RDS of gRPC programs without a proxy: a route configuration for each port of a service, named as its cluster is. It holds the
 * virtual hosts that the service's name leads to. Unlike Envoy, gRPC compares ports too, so each domain stands there with its port.
 */
import { hostsOverlap, isWildcard, parseClusterName, parseSniName } from "@flotilla/model";
import { typeUrl } from "@flotilla/proto";
import { RouteConfigurationSchema } from "@flotilla/proto/envoy/config/route/v3/route_pb";
import { query, type View } from "../../snapshot/view.ts";
import { type Encoded, sameVersion, slicedParts } from "../encode/encoded.ts";
import { createContainerGenerator } from "../encode/generator.ts";
import { inUrl, routeConfigurationHead } from "../envoy/routes/route-configuration.ts";
import { type HostPlan, hostDomains, hostPlan, type PlanText, plannedService } from "../select/planned-host.ts";
import { encodedMeshHost } from "../select/virtual-host.ts";
import { virtualHostPlan } from "../select/virtual-host-plan.ts";

export const grpcRoutes = createContainerGenerator({
  typeUrl: typeUrl.route,
  label: "grpc ",
  select: (view, name) =>
    routedHost(name) === undefined ? undefined : { name, virtualHosts: view.read(virtualHosts, name) },
  schema: RouteConfigurationSchema,
  before: routeConfigurationHead,
  parts: ({ virtualHosts }) => virtualHosts,
});

/** Any host may be asked for: without virtual hosts the client reports that it has no route. */
function routedHost(name: string): { readonly hostname: string; readonly port: number } | undefined {
  const parts = parseClusterName(name) ?? parseSniName(name);
  return parts === undefined || parts.hostname === "" || parts.port === 0 ? undefined : parts;
}

const hostPlans = query<readonly PlanText[], string>("grpc-virtual-host-plan", (view, name) => {
  const host = routedHost(name);
  if (host === undefined) return [];
  const hostname = host.hostname.toLowerCase();
  const { byDomain, wildcards } = view.read(hostIndex, String(host.port));
  const named = [inUrl(hostname), `${inUrl(hostname)}:${host.port}`].flatMap((domain) => byDomain.get(domain) ?? []);
  const covering = wildcards.filter(({ domain }) => hostsOverlap(domain, hostname)).map(({ plan }) => plan);
  const found = new Set([...named, ...covering]);
  return view.read(virtualHostPlan, String(host.port)).filter((plan) => found.has(plan));
});

interface HostIndex {
  readonly byDomain: ReadonlyMap<string, readonly PlanText[]>;
  readonly wildcards: readonly { readonly domain: string; readonly plan: PlanText }[];
}

/** The virtual hosts of a port by the domains they have, so that a route configuration need not look at all of them. */
const hostIndex = query<HostIndex, string>("grpc-virtual-hosts-by-domain", (view, port) => {
  const byDomain = new Map<string, PlanText[]>();
  const wildcards: { readonly domain: string; readonly plan: PlanText }[] = [];
  for (const plan of view.read(virtualHostPlan, port)) {
    for (const domain of domainsOf(view, hostPlan.read(plan)).map((one) => one.toLowerCase())) {
      const known = byDomain.get(domain);
      if (known === undefined) byDomain.set(domain, [plan]);
      else known.push(plan);
      if (isWildcard(domain)) wildcards.push({ domain, plan });
    }
  }
  return { byDomain, wildcards };
});

const virtualHosts = slicedParts(
  "grpc-virtual-hosts",
  hostPlans,
  query<Encoded, PlanText>(
    "grpc-virtual-host",
    (view, text) => {
      const plan = hostPlan.read(text);
      const domains = domainsOf(view, plan);
      const withPorts =
        plan.listenPort === 0 ? domains : domains.flatMap((domain) => [domain, `${domain}:${plan.port}`]);
      return encodedMeshHost(view, plan, { domains: withPorts, arrival: "in-process" });
    },
    sameVersion,
  ),
);

function domainsOf(view: View, plan: HostPlan): readonly string[] {
  const dropped = new Set(plan.withoutDomains);
  return hostDomains(view, plan, plannedService(view, plan)).all.filter((domain) => !dropped.has(domain));
}
