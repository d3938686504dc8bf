/** The state of a list, as the address has it: `q`, `sort`, `page`, `rows` and a parameter for each filter. */
import { maxPageRows } from "../../contract/index.ts";
import type { Place, QueryChanges } from "./router.ts";

/** Parameters of the request to the server. */
export interface ListRequest {
  readonly search: string | undefined;
  readonly sort: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

const usualRows = 50;

/** Choices of the number of rows on a page. */
export const rowChoices: readonly number[] = [usualRows, 100, maxPageRows];

/** Reads the state of a list; values that a reader typed wrong become the usual ones. `usualSort` holds where the address has none. */
export function listRequest({ query }: Place, usualSort?: string): ListRequest {
  const rows = Number(query.get("rows") ?? usualRows);
  const limit = rowChoices.includes(rows) ? rows : usualRows;
  const page = Number(query.get("page") ?? 1);
  const offset = Number.isInteger(page) && page > 0 ? (page - 1) * limit : 0;
  return { search: query.get("q"), sort: query.get("sort") ?? usualSort, offset, limit };
}

/** The filters in the address, of those that a list supports. */
export function filtersOf<Name extends string>(
  { query }: Place,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as Readonly<Partial<Record<Name, string>>>;
}

/** Changes of the address after a click on a column: ascending, then descending, and its first page. */
export function nextSort(column: string, present: string | undefined): QueryChanges {
  return { sort: present === column ? `-${column}` : column, page: undefined };
}

/** As `aria-sort` has it. */
export function sortDirection(column: string, present: string | undefined): "ascending" | "descending" | "none" {
  if (present === column) return "ascending";
  return present === `-${column}` ? "descending" : "none";
}

/** Where a page of a list stands among the others. */
export interface PageNumbers {
  readonly page: number;
  readonly pages: number;
  /** Numbers of the first and the last row that are shown, from 1; 0 when there is none. */
  readonly first: number;
  readonly last: number;
}

/** Of an answer's own figures: the server may have taken another offset. */
export function pageNumbers(offset: number, limit: number, shown: number, matching: number): PageNumbers {
  return {
    page: Math.floor(offset / limit) + 1,
    pages: Math.max(1, Math.ceil(matching / limit)),
    first: shown === 0 ? 0 : offset + 1,
    last: offset + shown,
  };
}
