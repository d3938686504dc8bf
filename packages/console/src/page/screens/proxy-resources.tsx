/** The resources of a proxy by type; one of them with its content and the explanation of it. */
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Explanation, ResourceRow, TypeSummary } from "../../contract/index.ts";
import { formatBytes, formatCount } from "../format/quantities.ts";
import { Differences } from "../parts/differences.tsx";
import { type Column, Pager, Table } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Ago, Bytes, ObjectLink } from "../parts/text.tsx";
import { router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";

interface ProxyResourcesProps {
  readonly proxy: string;
  readonly types: readonly TypeSummary[];
}

/** The tab `resources` of a proxy; `type` chooses the type, `show` one resource. */
export function ProxyResources({ proxy, types }: ProxyResourcesProps): VNode {
  const { query } = router.place.value;
  const type = query.get("type") ?? types[0]?.type;
  const name = query.get("show");
  if (type === undefined) return <Empty>The proxy has no resources yet.</Empty>;
  return (
    <>
      <nav class="choices" aria-label="Types of resources">
        {types.map((one) => (
          <a
            key={one.type}
            href={router.withQuery({ type: one.type, show: undefined, page: undefined, q: undefined })}
            aria-current={one.type === type ? "true" : undefined}
          >
            {one.type} <b>{formatCount(one.count)}</b> <span>{formatBytes(one.bytes)}</span>
          </a>
        ))}
      </nav>
      {name !== undefined && <Resource proxy={proxy} type={type} name={name} />}
      <ResourceTable proxy={proxy} type={type} />
    </>
  );
}

const columns: readonly Column<ResourceRow>[] = [
  { title: "Name", sort: "name", cell: ({ name }) => <a href={router.withQuery({ show: name })}>{name}</a> },
  { title: "Size", sort: "bytes", kind: "number", cell: ({ bytes }) => <Bytes bytes={bytes} /> },
  {
    title: "Made from",
    kind: "wide",
    cell: ({ madeFrom, madeFromCount }) => (
      <span class="objects">
        {madeFrom.slice(0, 3).map((object) => (
          <ObjectLink key={object} object={object} />
        ))}
        {madeFromCount > 3 && <span class="muted">and {formatCount(madeFromCount - 3)} more</span>}
      </span>
    ),
  },
  { title: "Version", kind: "minor", cell: ({ version }) => <code>{version.slice(0, 12)}</code> },
];

function ResourceTable({ proxy, type }: { readonly proxy: string; readonly type: string }): VNode {
  const request = listRequest(router.place.value, "name");
  const shown = useAnswer("GET /api/v1/proxies/{proxy}/resources", {
    names: { proxy },
    query: { ...request, type },
    topics: ["generation", "fleet", "objects"],
  });
  return (
    <>
      <search class="toolbar">
        <SearchField label={`Search ${type}`} />
      </search>
      <Answered shown={shown} what="the resources">
        {(page) => (
          <>
            <Table
              caption={`Resources of type ${type}`}
              columns={columns}
              rows={page.rows}
              keyOf={({ name }) => name}
              sort={request.sort}
              empty="No resource matches the search."
            />
            <Pager page={page} what="resources" one="resource" />
          </>
        )}
      </Answered>
    </>
  );
}

interface ResourceProps {
  readonly proxy: string;
  readonly type: string;
  readonly name: string;
}

function Resource({ proxy, type, name }: ResourceProps): VNode {
  const place = useRef<HTMLElement>(null);
  const shown = useAnswer("GET /api/v1/proxies/{proxy}/resource", {
    names: { proxy },
    query: { type, name },
    topics: ["generation", "fleet", "objects"],
  });
  useEffect(() => {
    place.current?.focus({ preventScroll: false });
  }, [type, name]);
  return (
    <section ref={place} class="panel opened" aria-label={`${type} ${name}`} tabIndex={-1}>
      <header>
        <h2>
          <span class="muted">{type}</span> {name}
        </h2>
        <a class="button" href={router.withQuery({ show: undefined })}>
          Close
        </a>
      </header>
      <Answered shown={shown} what="the resource">
        {({ explanation, content }) => (
          <div class="halves">
            <Why explanation={explanation} />
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keys */}
            <pre class="content" tabIndex={0}>
              {JSON.stringify(content, null, 2)}
            </pre>
          </div>
        )}
      </Answered>
    </section>
  );
}

function Why({ explanation }: { readonly explanation: Explanation }): VNode {
  const { since, change, madeFrom, acknowledged, rejected } = explanation;
  return (
    <div class="why">
      <h3>Made from</h3>
      <ul class="origins">
        {madeFrom.map(({ object, generation, at, by, source }) => (
          <li key={object}>
            <ObjectLink object={object} />
            <span class="muted">
              {[
                generation === undefined ? "" : `generation ${formatCount(generation)}`,
                by === undefined ? "" : `by ${by}`,
                source ?? "",
              ]
                .filter((text) => text !== "")
                .join(", ")}{" "}
              <Ago at={at} />
            </span>
          </li>
        ))}
      </ul>
      <h3>Since</h3>
      <p>
        {since === undefined ? (
          "It has not changed since the proxy connected, or for longer than is kept."
        ) : (
          <>
            Generation {formatCount(since.generation)}, <Ago at={since.at} />
            {change !== undefined && change.causedBy.length > 0 && <>, by {change.causedBy.join(", ")}</>}
          </>
        )}
      </p>
      {change !== undefined && <Differences differences={change.differences} />}
      <h3>Answer</h3>
      {rejected !== undefined && <p class="words bad">{rejected}</p>}
      <p>
        {acknowledged === undefined ? (
          "The proxy has not acknowledged it."
        ) : (
          <>
            Acknowledged with generation {formatCount(acknowledged.generation)}, <Ago at={acknowledged.at} />
          </>
        )}
      </p>
    </div>
  );
}
