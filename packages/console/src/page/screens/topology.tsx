/** The services of the mesh: namespaces first, then the services of one. */
import type { VNode } from "preact";
import type { NamespaceRow, TopologyService } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { type Column, Pager, Table, Toolbar } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { router } from "../state/browser.ts";
import { filtersOf, listRequest } from "../state/list-state.ts";
import { type ScreenProps, servicePath, wayPath } from "../state/places.ts";
import { pathOf } from "../state/router.ts";

const namespaceColumns: readonly Column<NamespaceRow>[] = [
  {
    title: "Namespace",
    sort: "namespace",
    cell: ({ namespace }) => <a href={pathOf("topology", namespace)}>{namespace}</a>,
  },
  { title: "Services", sort: "services", kind: "number", cell: ({ services }) => formatCount(services) },
  { title: "Proxies", kind: "number", cell: ({ proxies }) => formatCount(proxies) },
  { title: "Policies", kind: "number", cell: ({ policies }) => formatCount(policies) },
];

/** `/topology` */
export function NamespacesScreen(): VNode {
  const request = listRequest(router.place.value, "namespace");
  const shown = useAnswer("GET /api/v1/topology/namespaces", { query: request, topics: ["generation", "fleet"] });
  return (
    <>
      <h1>Topology</h1>
      <search class="toolbar">
        <SearchField label="Search namespaces" />
        <a class="button" href={wayPath()}>
          What a request would meet
        </a>
      </search>
      <Answered shown={shown} what="namespaces">
        {(page) => (
          <>
            <Table
              caption="Namespaces"
              columns={namespaceColumns}
              rows={page.rows}
              keyOf={({ namespace }) => namespace}
              sort={request.sort}
              empty={page.total === 0 ? "There are no services yet." : "No namespace matches the search."}
            />
            <Pager page={page} what="namespaces" one="namespace" />
          </>
        )}
      </Answered>
    </>
  );
}

const serviceColumns: readonly Column<TopologyService>[] = [
  {
    title: "Service",
    sort: "hostname",
    cell: ({ namespace, hostname }) => <a href={servicePath(namespace, hostname)}>{hostname}</a>,
  },
  {
    title: "Ports",
    cell: ({ ports }) => ports.map(({ number, protocol }) => `${number} ${protocol}`).join(", "),
  },
  { title: "Registry", kind: "minor", cell: ({ registry }) => registry },
  {
    title: "Healthy endpoints",
    sort: "endpoints",
    kind: "number",
    cell: ({ healthy, endpoints }) => (
      <span class={healthy < endpoints || endpoints === 0 ? "tag warn" : ""}>
        {formatCount(healthy)} / {formatCount(endpoints)}
      </span>
    ),
  },
];

const filters = ["registry"] as const;

/** `/topology/:namespace` */
export function ServicesScreen({ names }: ScreenProps): VNode {
  const place = router.place.value;
  const namespace = names.get("namespace") ?? "";
  const request = listRequest(place, "hostname");
  const shown = useAnswer("GET /api/v1/topology/services", {
    query: { ...request, ...filtersOf(place, filters), namespace },
    topics: ["generation", "fleet"],
  });
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/topology">Topology</a>
      </nav>
      <h1>{namespace}</h1>
      <Toolbar what="services" filters={filters} facets={shown.value?.facets} />
      <Answered shown={shown} what="services">
        {(page) => (
          <>
            <Table
              caption={`Services of ${namespace}`}
              columns={serviceColumns}
              rows={page.rows}
              keyOf={({ hostname }) => hostname}
              sort={request.sort}
              empty="No service matches."
            />
            <Pager page={page} what="services" one="service" />
          </>
        )}
      </Answered>
    </>
  );
}
