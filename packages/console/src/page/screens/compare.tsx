/** Any two generations that are kept: each object that they differ in, line by line. */
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { formatCount } from "../format/quantities.ts";
import { ObjectChange } from "../parts/differences.tsx";
import { Pager } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";

/** `/changes/compare?from=&to=` */
export function CompareScreen(): VNode {
  const { query } = router.place.value;
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  const isWhole = Number.isInteger(from) && Number.isInteger(to) && to > 0;
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/changes">Changes</a>
      </nav>
      <h1>{isWhole ? `Generation ${formatCount(from)} to ${formatCount(to)}` : "Compare generations"}</h1>
      <CompareForm from={query.get("from") ?? ""} to={query.get("to") ?? ""} />
      {isWhole ? <Comparison from={from} to={to} /> : <Empty>Enter two generations.</Empty>}
    </>
  );
}

function CompareForm({ from, to }: { readonly from: string; readonly to: string }): VNode {
  const [first, second] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const submit = (event: Event): void => {
    event.preventDefault();
    router.change({ from: first.current?.value, to: second.current?.value, page: undefined, q: undefined });
  };
  return (
    <form class="toolbar numbers" onSubmit={submit}>
      <label>
        from <input key={from} ref={first} type="number" min={0} required defaultValue={from} />
      </label>
      <label>
        to <input key={to} ref={second} type="number" min={1} required defaultValue={to} />
      </label>
      <button type="submit">Compare</button>
      <SearchField label="Search objects" />
    </form>
  );
}

function Comparison({ from, to }: { readonly from: number; readonly to: number }): VNode {
  const { search, offset, limit } = listRequest(router.place.value);
  const shown = useAnswer("GET /api/v1/changes/compare", { query: { from, to, search, offset, limit }, topics: [] });
  return (
    <Answered shown={shown} what="the comparison">
      {(page) => (
        <>
          {page.rows.length === 0 && <Empty>Both generations have the same objects.</Empty>}
          {page.rows.map((change) => (
            <ObjectChange key={change.object} change={change} />
          ))}
          <Pager page={page} what="objects" one="object" />
        </>
      )}
    </Answered>
  );
}
