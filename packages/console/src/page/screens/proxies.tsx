/** The whole fleet, whatever replica a proxy is connected to. */
import type { VNode } from "preact";
import type { ProxyRow, TypeState } from "../../contract/index.ts";
import { type Column, Pager, Table, Toolbar } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { Ago, ProxyLink, State, toneOf } from "../parts/text.tsx";
import { router } from "../state/browser.ts";
import { filtersOf, listRequest } from "../state/list-state.ts";

const filters = ["namespace", "type", "state", "version", "replica"] as const;

const columns: readonly Column<ProxyRow>[] = [
  { title: "Proxy", sort: "proxy", cell: ({ proxy }) => <ProxyLink proxy={proxy} /> },
  { title: "State", sort: "state", cell: ({ state }) => <State state={state} /> },
  { title: "Resources", cell: ({ types }) => <TypeMarks types={types} /> },
  { title: "Type", sort: "type", kind: "minor", cell: ({ type }) => type },
  { title: "Version", sort: "version", kind: "minor", cell: ({ version }) => version },
  { title: "Replica", sort: "replica", kind: "minor", cell: ({ replica }) => replica },
  { title: "Address", kind: "minor", cell: ({ peer }) => <code>{peer}</code> },
  { title: "Connected", sort: "connectedAt", kind: "number", cell: ({ connectedAt }) => <Ago at={connectedAt} /> },
];

/** `/proxies` */
export function ProxiesScreen(): VNode {
  const place = router.place.value;
  const request = listRequest(place, "proxy");
  const shown = useAnswer("GET /api/v1/proxies", {
    query: { ...request, ...filtersOf(place, filters) },
    topics: ["fleet", "services"],
  });
  return (
    <>
      <h1>Proxies</h1>
      <Toolbar what="proxies" filters={filters} facets={shown.value?.facets} />
      <Answered shown={shown} what="proxies">
        {(page) => (
          <>
            <Table
              caption="Connected proxies"
              columns={columns}
              rows={page.rows}
              keyOf={({ proxy, replica, connectedAt }) => `${proxy} ${replica} ${connectedAt}`}
              sort={request.sort}
              empty={page.total === 0 ? "No proxy is connected." : "No proxy matches the search and the filters."}
            />
            <Pager page={page} what="proxies" one="proxy" />
          </>
        )}
      </Answered>
    </>
  );
}

const usualOrder = ["cds", "lds", "rds", "eds"];

/** A mark for each type of resources, coloured by how the proxy stands with it. */
function TypeMarks({ types }: { readonly types: Readonly<Record<string, TypeState>> }): VNode {
  const place = (type: string): number => (usualOrder.indexOf(type) + usualOrder.length + 1) % (usualOrder.length + 1);
  const sorted = Object.entries(types).toSorted(([a], [b]) => place(a) - place(b) || (a < b ? -1 : 1));
  return (
    <span class="marks">
      {sorted.map(([type, { state, error }]) => (
        <span key={type} class={`mark ${toneOf(state)}`} title={error ?? `${type}: ${state}`}>
          {type}
          {state !== "synced" && <span class="unseen"> {state}</span>}
        </span>
      ))}
    </span>
  );
}
