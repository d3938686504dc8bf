/**
 * `/debug/services`, `/debug/namespaces` and `/debug/service_objects`: the mesh in parts, as the console shows it. They read cached tables, so that
 * requests after each change do not read the whole mesh.
 */
import { type Change, clusterDomainOf, resolveShortName } from "@flotilla/model";
import { type ListShape, listPage } from "@flotilla/runtime";
import type { Core } from "../app/core.ts";
import type { FleetRow } from "./fleet-page.ts";
import { configJson, configsOf } from "./mesh-pages.ts";
import { type DebugPage, plain } from "./page.ts";
import { policyKinds, type ServiceRow, type ServiceTable } from "./service-table.ts";
import { maySee, type Viewer } from "./viewer.ts";

export interface ServicePageSources {
  readonly core: Pick<Core, "mesh">;
  readonly table: Pick<ServiceTable, "rows" | "policies">;
  readonly fleetRows: () => Promise<readonly FleetRow[]>;
  readonly inputs: () => Iterable<Change>;
}

export function servicePages(sources: ServicePageSources): readonly DebugPage[] {
  return [servicesPage(sources), namespacesPage(sources), serviceObjectsPage(sources)];
}

const serviceShape: ListShape<ServiceRow, "namespace" | "registry"> = {
  columns: {
    hostname: ({ hostname }) => hostname,
    namespace: ({ namespace }) => namespace,
    endpoints: ({ endpoints }) => endpoints,
  },
  facets: { namespace: ({ namespace }) => namespace, registry: ({ registry }) => registry },
  text: ({ hostname, namespace, registry, ports }) =>
    [hostname, namespace, registry, ...ports.map(({ name, number }) => `${name} ${number}`)].join(" "),
  sort: "hostname",
  others: ["hostname"],
};

function servicesPage({ table }: ServicePageSources): DebugPage {
  return {
    path: "services",
    help: "services as a list, with counts of endpoints: ?hostname=A,B&search=&namespace=&registry=&sort=&offset=&limit=",
    scope: "namespace",
    answer: ({ query, viewer }) => {
      const names = query.get("hostname");
      const asked = names === null ? undefined : new Set(names.split(","));
      const seen = table
        .rows()
        .filter(({ hostname, namespace }) => maySee(viewer, namespace) && (asked?.has(hostname) ?? true));
      return reply(listPage(seen, serviceShape, query));
    },
  };
}

interface NamespaceRow {
  readonly namespace: string;
  readonly services: number;
  readonly proxies: number;
  readonly policies: number;
}

const namespaceShape: ListShape<NamespaceRow> = {
  columns: {
    namespace: ({ namespace }) => namespace,
    services: ({ services }) => services,
    workloads: ({ proxies }) => proxies,
  },
  facets: {},
  text: ({ namespace }) => namespace,
  sort: "namespace",
};

function namespacesPage({ table, fleetRows }: ServicePageSources): DebugPage {
  return {
    path: "namespaces",
    help: "namespaces as a list, with counts of services, proxies and policies: ?search=&sort=&offset=&limit=",
    scope: "namespace",
    answer: async ({ query, viewer }) => {
      const [services, proxies] = [countByNamespace(table.rows()), countByNamespace(await fleetRows())];
      const policies = table.policies();
      const names = new Set([...services.keys(), ...proxies.keys(), ...policies.keys()]);
      const rows = [...names]
        .filter((namespace) => maySee(viewer, namespace))
        .map((namespace) => {
          const of = (counts: ReadonlyMap<string, number>) => counts.get(namespace) ?? 0;
          return { namespace, services: of(services), proxies: of(proxies), policies: of(policies) };
        });
      return reply(listPage(rows, namespaceShape, query));
    },
  };
}

function countByNamespace(rows: readonly { readonly namespace: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace } of rows) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return counts;
}

function reply(page: ReturnType<typeof listPage>) {
  return "problem" in page ? { status: 400, json: { error: page.problem } } : { json: page };
}

function serviceObjectsPage({ core, inputs }: ServicePageSources): DebugPage {
  return {
    path: "service_objects",
    help: "VirtualServices and DestinationRules that name ?hostname=, and the policies of its ?namespace= and of the root namespace",
    scope: "namespace",
    answer: ({ query, viewer }) => {
      const [hostname, namespace] = [query.get("hostname") ?? "", query.get("namespace") ?? ""];
      if (hostname === "" || namespace === "") return plain(400, "service_objects needs hostname and namespace");
      const { rootNamespace } = core.mesh;
      const around = aroundService(inputs(), viewer, { hostname, near: new Set([namespace, rootNamespace]) });
      return { json: { rootNamespace, objects: configsOf(around, viewer).map(configJson) } };
    },
  };
}

interface NamedService {
  readonly hostname: string;
  /** Namespaces whose policies may apply. */
  readonly near: ReadonlySet<string>;
}

function* aroundService(inputs: Iterable<Change>, viewer: Viewer, { hostname, near }: NamedService): Iterable<Change> {
  const domain = clusterDomainOf(hostname);
  for (const change of inputs) {
    if (change.type !== "config" || change.op !== "put" || !maySee(viewer, change.key.namespace)) continue;
    const { kind, namespace } = change.key;
    const isNamed = (host: unknown) =>
      typeof host === "string" && resolveShortName(host, namespace, domain) === hostname;
    if (policyKinds.has(kind) ? near.has(namespace) : hostsOf(kind, change.value.spec).some(isNamed)) yield change;
  }
}

interface HostedSpec {
  readonly host?: string;
  readonly hosts?: readonly string[];
  readonly http?: readonly HostedRoute[];
  readonly tcp?: readonly HostedRoute[];
  readonly tls?: readonly HostedRoute[];
}

interface HostedRoute {
  readonly route?: readonly { readonly destination?: { readonly host?: string } }[];
}

/** Hosts whose requests an object matches, and hosts of its destinations. */
function hostsOf(kind: string, spec: unknown): readonly (string | undefined)[] {
  const { host, hosts = [], http = [], tcp = [], tls = [] } = (spec ?? {}) as HostedSpec;
  if (kind === "DestinationRule") return [host];
  if (kind !== "VirtualService") return [];
  const routes = [...http, ...tcp, ...tls].flatMap(({ route = [] }) => route);
  return [...hosts, ...routes.map(({ destination }) => destination?.host)];
}
