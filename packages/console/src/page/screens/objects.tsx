/** Every configuration object: where it comes from, and how far it has come. */
import type { VNode } from "preact";
import type { ObjectRow } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { type Column, Pager, Table, Toolbar } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { Arrived, ObjectLink, State } from "../parts/text.tsx";
import { mayWrite, router } from "../state/browser.ts";
import { filtersOf, listRequest } from "../state/list-state.ts";

const filters = ["kind", "namespace", "state", "source"] as const;

const columns: readonly Column<ObjectRow>[] = [
  { title: "Object", sort: "object", cell: ({ object }) => <ObjectLink object={object} /> },
  { title: "State", sort: "state", cell: ({ state }) => <State state={state} /> },
  { title: "Arrived", cell: ({ live, concerned }) => <Arrived live={live} concerned={concerned} /> },
  { title: "Reason", kind: "wide", cell: ({ reason }) => <span class="words">{reason}</span> },
  { title: "Source", sort: "source", kind: "minor", cell: ({ source }) => source },
  { title: "By", kind: "minor", cell: ({ by }) => by },
  {
    title: "Generation",
    sort: "generation",
    kind: "number",
    cell: ({ generation }) => generation !== undefined && formatCount(generation),
  },
];

/** `/objects` */
export function ObjectsScreen(): VNode {
  const place = router.place.value;
  const request = listRequest(place, "object");
  const shown = useAnswer("GET /api/v1/objects", {
    query: { ...request, ...filtersOf(place, filters) },
    topics: ["generation", "objects", "rejections"],
  });
  return (
    <>
      <header class="heading">
        <h1>Objects</h1>
        {mayWrite.value && (
          <a class="button" href="/objects/new">
            New object
          </a>
        )}
      </header>
      <Toolbar what="objects" filters={filters} facets={shown.value?.facets} />
      <Answered shown={shown} what="objects">
        {(page) => (
          <>
            <Table
              caption="Configuration objects"
              columns={columns}
              rows={page.rows}
              keyOf={({ object }) => object}
              sort={request.sort}
              empty={page.total === 0 ? "There are no objects yet." : "No object matches the search and the filters."}
            />
            <Pager page={page} what="objects" one="object" />
          </>
        )}
      </Answered>
    </>
  );
}
