/** A list of the server's: search, filters, a table, pages. Its whole state is in the address. */
import type { ComponentChildren, VNode } from "preact";
import type { Facet, Page } from "../../contract/index.ts";
import { counted, formatCount } from "../format/quantities.ts";
import { router } from "../state/browser.ts";
import { nextSort, pageNumbers, rowChoices, sortDirection } from "../state/list-state.ts";
import { Empty } from "./reading.tsx";
import { SearchField } from "./search-field.tsx";

/** A column: its heading, its cells, and the name by which the server sorts. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sort?: string;
  /** `minor` columns are left out on narrow screens. */
  readonly kind?: "number" | "minor" | "wide";
}

interface TableProps<Row> {
  /** Read out before the table. */
  readonly caption: string;
  /** The first one names the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** As the server has it now. */
  readonly sort?: string | undefined;
  readonly empty?: ComponentChildren;
}

/** Rows with headings; j and k move through the links of the first column. */
export function Table<Row>({ caption, columns, rows, keyOf, sort, empty }: TableProps<Row>): VNode {
  if (rows.length === 0) return <Empty>{empty ?? "Nothing."}</Empty>;
  return (
    <div class="scroll">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.title} column={column} present={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, kind }, at) =>
                at === 0 ? (
                  <th key={title} scope="row" class={kind}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} class={kind}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Heading<Row>({
  column: { title, sort: name, kind },
  present,
}: {
  readonly column: Column<Row>;
  readonly present: string | undefined;
}): VNode {
  if (name === undefined)
    return (
      <th scope="col" class={kind}>
        {title}
      </th>
    );
  return (
    <th scope="col" class={kind} aria-sort={sortDirection(name, present)}>
      <button type="button" class="sort" onClick={() => router.change(nextSort(name, present))}>
        {title}
      </button>
    </th>
  );
}

interface ToolbarProps {
  readonly what: string;
  /** Values to filter by, with the parameter of each; absent until the first answer. */
  readonly facets?: Readonly<Record<string, readonly Facet[]>> | undefined;
  readonly filters: readonly string[];
  readonly children?: ComponentChildren;
}

/** Search and filters of a list. */
export function Toolbar({ what, facets = {}, filters, children }: ToolbarProps): VNode {
  const { query } = router.place.value;
  return (
    <search class="toolbar">
      <SearchField label={`Search ${what}`} />
      {filters.map((name) => (
        <FacetChoice
          key={name}
          name={name}
          facets={facets[name as keyof typeof facets] ?? []}
          chosen={query.get(name)}
        />
      ))}
      {filters.some((name) => query.has(name)) && (
        <button
          type="button"
          class="quiet"
          onClick={() =>
            router.change({ ...Object.fromEntries(filters.map((name) => [name, undefined])), page: undefined })
          }
        >
          Clear filters
        </button>
      )}
      {children}
    </search>
  );
}

function FacetChoice({
  name,
  facets,
  chosen,
}: {
  readonly name: string;
  readonly facets: readonly Facet[];
  readonly chosen: string | undefined;
}): VNode {
  const isListed = chosen === undefined || facets.some(({ value }) => value === chosen);
  return (
    <label class={chosen === undefined ? "facet" : "facet chosen"}>
      <span>{name}</span>
      <select
        aria-label={name}
        value={chosen ?? ""}
        onChange={({ currentTarget }) => router.change({ [name]: currentTarget.value, page: undefined })}
      >
        <option value="">any</option>
        {!isListed && <option value={chosen}>{chosen}</option>}
        {facets.map(({ value, count }) => (
          <option key={value} value={value}>
            {value === "" ? "(none)" : value} · {formatCount(count)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Where the page stands in the list, and the ways to the others. */
export function Pager<Row>({
  page,
  what,
  one,
}: {
  readonly page: Page<Row>;
  readonly what: string;
  readonly one: string;
}): VNode {
  const { offset, limit, rows, matching, total } = page;
  const at = pageNumbers(offset, limit, rows.length, matching);
  const isSearched = matching !== total;
  return (
    <nav class="pager" aria-label={`Pages of ${what}`}>
      <span aria-live="polite">
        {at.pages > 1 ? `${formatCount(at.first)}–${formatCount(at.last)} of ` : ""}
        {counted(matching, one, what)}
        {isSearched && ` (${formatCount(total)} in all)`}
      </span>
      {at.pages > 1 && (
        <span class="pages">
          <PageButton to={at.page - 1} pages={at.pages} label="Previous" />
          <span>
            {formatCount(at.page)} / {formatCount(at.pages)}
          </span>
          <PageButton to={at.page + 1} pages={at.pages} label="Next" />
        </span>
      )}
      {matching > (rowChoices[0] ?? 0) && (
        <label class="facet">
          <span>rows</span>
          <select
            value={String(limit)}
            onChange={({ currentTarget }) => router.change({ rows: currentTarget.value, page: undefined })}
          >
            {rowChoices.map((count) => (
              <option key={count} value={String(count)}>
                {count}
              </option>
            ))}
          </select>
        </label>
      )}
    </nav>
  );
}

function PageButton({
  to,
  pages,
  label,
}: {
  readonly to: number;
  readonly pages: number;
  readonly label: string;
}): VNode {
  return (
    <button
      type="button"
      disabled={to < 1 || to > pages}
      onClick={() => router.change({ page: to === 1 ? undefined : to })}
    >
      {label}
    </button>
  );
}
