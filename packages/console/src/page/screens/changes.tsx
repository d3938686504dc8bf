/** The generations of the configuration, the latest first: what changed, who did it, and how it reached the fleet. */
import type { VNode } from "preact";
import type { GenerationRow } from "../../contract/index.ts";
import { formatBytes, formatCount, formatDuration } from "../format/quantities.ts";
import { type Column, Pager, Table } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { Ago, ObjectLink, toneOf } from "../parts/text.tsx";
import { router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";
import { formatAddress } from "../state/router.ts";

/** Numbers of generations have gaps: each leads to what it changed since the one below it. */
function generationColumn(rows: readonly GenerationRow[]): Column<GenerationRow> {
  const before = new Map(rows.map(({ generation }, at) => [generation, rows[at + 1]?.generation ?? generation - 1]));
  return {
    title: "Generation",
    cell: ({ generation }) => (
      <a href={comparePath(before.get(generation) ?? generation - 1, generation)}>{formatCount(generation)}</a>
    ),
  };
}

const columns: readonly Column<GenerationRow>[] = [
  { title: "When", cell: ({ at }) => <Ago at={at} /> },
  { title: "Objects", kind: "wide", cell: (row) => <ChangedObjects row={row} /> },
  { title: "By", kind: "minor", cell: ({ by }) => by },
  { title: "Acknowledged", kind: "number", cell: ({ arrival }) => <Acknowledged arrival={arrival} /> },
  { title: "Messages", kind: "number", cell: ({ arrival }) => arrival && formatCount(arrival.messages) },
  { title: "Bytes", kind: "number", cell: ({ arrival }) => arrival && formatBytes(arrival.bytes) },
  { title: "Rejections", kind: "number", cell: ({ arrival }) => arrival && <Rejected count={arrival.rejections} /> },
  { title: "Compare", cell: ({ generation }) => <CompareMark generation={generation} /> },
];

/** `/changes`; `from` is the generation that was chosen to compare with. */
export function ChangesScreen(): VNode {
  const place = router.place.value;
  const { search, offset, limit } = listRequest(place);
  const object = place.query.get("object");
  const shown = useAnswer("GET /api/v1/changes", {
    query: { search, offset, limit, object },
    topics: ["generation", "rejections", "objects"],
  });
  return (
    <>
      <h1>Changes</h1>
      <search class="toolbar">
        <SearchField label="Search changes" />
        {object !== undefined && (
          <button type="button" onClick={() => router.change({ object: undefined, page: undefined })}>
            {object} ✕
          </button>
        )}
        <Chosen />
      </search>
      <Answered shown={shown} what="changes">
        {(page) => (
          <>
            <Table
              caption="Generations of the configuration"
              columns={[generationColumn(page.rows), ...columns]}
              rows={page.rows}
              keyOf={({ generation }) => String(generation)}
              empty={page.total === 0 ? "Nothing has changed yet." : "No change matches the search."}
            />
            <Pager page={page} what="changes" one="change" />
          </>
        )}
      </Answered>
    </>
  );
}

/** The screen that compares two generations. */
export function comparePath(from: number, to: number): string {
  const query = new Map([
    ["from", String(Math.min(from, to))],
    ["to", String(Math.max(from, to))],
  ]);
  return formatAddress("/changes/compare", query);
}

/** Names of the objects of a generation, coloured by what was done to them. */
function ChangedObjects({ row: { objects, changes } }: { readonly row: GenerationRow }): VNode {
  const named = objects.slice(0, 4);
  return (
    <span class="objects">
      {named.map(({ object, op }) => (
        <span key={object}>
          <span class={`op ${toneOf(op)}`}>{op}</span> <ObjectLink object={object} />
        </span>
      ))}
      {changes > named.length && <span class="muted">and {formatCount(changes - named.length)} more</span>}
    </span>
  );
}

function Acknowledged({ arrival }: { readonly arrival: GenerationRow["arrival"] }): VNode {
  if (arrival === undefined) return <span class="muted">unknown</span>;
  const { waiting, lastAckMs, messages, together } = arrival;
  if (messages === 0) return <span class="muted">no proxy</span>;
  return (
    <span>
      {lastAckMs !== undefined && formatDuration(lastAckMs)}
      {together > 1 && <span class="muted"> with {formatCount(together - 1)} more</span>}
      {waiting > 0 && <span class="tag warn">{formatCount(waiting)} waiting</span>}
    </span>
  );
}

function Rejected({ count }: { readonly count: number }): VNode {
  if (count === 0) return <span>0</span>;
  return <span class="tag bad">{formatCount(count)}</span>;
}

function CompareMark({ generation }: { readonly generation: number }): VNode {
  const from = router.place.value.query.get("from");
  if (from === undefined)
    return (
      <button type="button" class="quiet" onClick={() => router.change({ from: generation }, true)}>
        choose<span class="unseen"> {generation} to compare</span>
      </button>
    );
  if (from === String(generation)) return <span class="muted">chosen</span>;
  return (
    <a href={comparePath(Number(from), generation)}>
      with {formatCount(Number(from))}
      <span class="unseen">, {generation}</span>
    </a>
  );
}

function Chosen(): VNode | null {
  const from = router.place.value.query.get("from");
  if (from === undefined) return null;
  return (
    <span role="status">
      Choose what to compare {formatCount(Number(from))} with.{" "}
      <button type="button" class="quiet" onClick={() => router.change({ from: undefined }, true)}>
        Cancel
      </button>
    </span>
  );
}
