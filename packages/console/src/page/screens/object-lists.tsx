/** Changes of an object, and the resources made from it. */
import type { VNode } from "preact";
import { formatCount } from "../format/quantities.ts";
import { ObjectChange } from "../parts/differences.tsx";
import { Pager, Table } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Ago } from "../parts/text.tsx";
import { router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";
import { proxyPath } from "../state/places.ts";
import type { PathNames } from "../state/requests.ts";
import { formatAddress } from "../state/router.ts";
import { comparePath } from "./changes.tsx";

/** The generations that changed an object, each with what it changed. */
export function ObjectHistory({ names }: { readonly names: PathNames }): VNode {
  const { offset, limit } = listRequest(router.place.value);
  const shown = useAnswer("GET /api/v1/objects/{kind}/{namespace}/{name}/history", {
    names,
    query: { offset, limit },
    topics: ["generation"],
  });
  return (
    <Answered shown={shown} what="the history">
      {(page) => (
        <>
          {page.rows.length === 0 && <Empty>No generation that is kept changed it.</Empty>}
          {page.rows.map(({ generation, at, by, change }) => (
            <section key={generation} class="panel" aria-label={`Generation ${generation}`}>
              <header>
                <a href={comparePath(generation - 1, generation)}>Generation {formatCount(generation)}</a>
                <span class="muted">
                  <Ago at={at} /> by {by}
                </span>
              </header>
              {change === undefined ? (
                <p class="muted">Its content before and after is no longer kept.</p>
              ) : (
                <ObjectChange change={change} />
              )}
            </section>
          ))}
          <Pager page={page} what="generations" one="generation" />
        </>
      )}
    </Answered>
  );
}

/** The resources that were made from an object, on each proxy that has them. */
export function ObjectResources({ names }: { readonly names: PathNames }): VNode {
  const request = listRequest(router.place.value, "proxy");
  const shown = useAnswer("GET /api/v1/objects/{kind}/{namespace}/{name}/resources", {
    names,
    query: request,
    topics: ["generation", "fleet", "objects"],
  });
  return (
    <>
      <search class="toolbar">
        <SearchField label="Search resources" />
      </search>
      <Answered shown={shown} what="the resources">
        {(page) => (
          <>
            <Table
              caption="Resources that were made from the object"
              rows={page.rows}
              keyOf={({ proxy, type, name }) => `${proxy} ${type} ${name}`}
              sort={request.sort}
              empty="Nothing was made from it."
              columns={[
                {
                  title: "Resource",
                  sort: "name",
                  cell: ({ proxy, type, name }) => (
                    <a
                      href={formatAddress(
                        proxyPath(proxy),
                        new Map([
                          ["type", type],
                          ["show", name],
                        ]),
                      )}
                    >
                      {name}
                    </a>
                  ),
                },
                { title: "Type", sort: "type", cell: ({ type }) => type },
                { title: "Proxy", sort: "proxy", cell: ({ proxy }) => <a href={proxyPath(proxy)}>{proxy}</a> },
              ]}
            />
            <Pager page={page} what="resources" one="resource" />
            {!page.isComplete && <p class="muted">The search was cut short: more resources may be made from it.</p>}
          </>
        )}
      </Answered>
    </>
  );
}
