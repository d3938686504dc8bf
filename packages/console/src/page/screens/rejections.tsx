/** Current rejections of proxies, by the object that is blamed. */
import type { VNode } from "preact";
import { Pager, Toolbar } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { router } from "../state/browser.ts";
import { filtersOf, listRequest, nextSort, sortDirection } from "../state/list-state.ts";
import { RejectionList } from "./rejection-list.tsx";

const filters = ["type", "namespace"] as const;
const orders: readonly (readonly [column: string, title: string])[] = [
  ["lastAt", "Last seen"],
  ["firstAt", "First seen"],
  ["proxies", "Proxies"],
  ["object", "Object"],
];

/** `/rejections` */
export function RejectionsScreen(): VNode {
  const place = router.place.value;
  const request = listRequest(place, "-lastAt");
  const shown = useAnswer("GET /api/v1/rejections", {
    query: { ...request, ...filtersOf(place, filters) },
    topics: ["rejections", "fleet"],
  });
  return (
    <>
      <h1>Rejections</h1>
      <Toolbar what="rejections" filters={filters} facets={shown.value?.facets}>
        <Order present={request.sort} />
      </Toolbar>
      <Answered shown={shown} what="rejections">
        {(page) => (
          <>
            <RejectionList groups={page.rows} />
            {page.rows.length === 0 && (
              <Empty>
                {page.total === 0 ? "No proxy rejects anything." : "No rejection matches the search and the filters."}
              </Empty>
            )}
            <Pager page={page} what="rejections" one="rejection" />
          </>
        )}
      </Answered>
    </>
  );
}

function Order({ present }: { readonly present: string | undefined }): VNode {
  const marks = { ascending: " ↑", descending: " ↓", none: "" } as const;
  return (
    <span class="order">
      {orders.map(([column, title]) => {
        const direction = sortDirection(column, present);
        return (
          <button
            key={column}
            type="button"
            class="quiet"
            aria-pressed={direction !== "none"}
            onClick={() => router.change(nextSort(column, present))}
          >
            {title}
            {marks[direction]}
          </button>
        );
      })}
    </span>
  );
}
