/** How a proxy's resources differ from those of another proxy, or from the generation before. */
import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Differences } from "../parts/differences.tsx";
import { Pager } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { State } from "../parts/text.tsx";
import { router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";

interface ProxyCompareProps {
  readonly proxy: string;
  readonly types: readonly string[];
}

/** The tab `compare` of a proxy; `with` names the other one. */
export function ProxyCompare({ proxy, types }: ProxyCompareProps): VNode {
  const place = router.place.value;
  const [other, type] = [place.query.get("with"), place.query.get("type")];
  const { offset, limit } = listRequest(place);
  const shown = useAnswer("GET /api/v1/proxies/{proxy}/diff", {
    names: { proxy },
    query: { with: other, type, offset, limit },
    topics: ["generation", "fleet", "objects"],
  });
  return (
    <>
      <CompareForm other={other ?? ""} type={type ?? ""} types={types} />
      <Answered shown={shown} what="the differences">
        {(page) => (
          <>
            {page.rows.length === 0 && (
              <Empty>
                {other === undefined
                  ? "The last generation changed nothing for this proxy."
                  : "Both have the same resources."}
              </Empty>
            )}
            {page.rows.map((row) => (
              <article key={`${row.type} ${row.name}`} class="change">
                <h2>
                  <State state={row.op} /> <span class="muted">{row.type}</span> {row.name}
                </h2>
                {row.differences.length > 0 && <Differences differences={row.differences} />}
              </article>
            ))}
            <Pager page={page} what="resources" one="resource" />
          </>
        )}
      </Answered>
    </>
  );
}

function CompareForm({
  other,
  type,
  types,
}: {
  readonly other: string;
  readonly type: string;
  readonly types: readonly string[];
}): VNode {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    router.change({ with: field.current?.value.trim(), page: undefined });
  };
  return (
    <form class="toolbar" onSubmit={submit}>
      <input
        key={other}
        ref={field}
        type="text"
        data-search
        defaultValue={other}
        aria-label="Compare with the proxy"
        placeholder="name.namespace of another proxy"
        autocomplete="off"
        spellcheck={false}
      />
      <button type="submit">Compare</button>
      {other !== "" && (
        <button type="button" class="quiet" onClick={() => router.change({ with: undefined, page: undefined })}>
          With the generation before
        </button>
      )}
      <label class="facet">
        <span>type</span>
        <select
          value={type}
          onChange={({ currentTarget }) => router.change({ type: currentTarget.value, page: undefined })}
        >
          <option value="">all</option>
          {types.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}
