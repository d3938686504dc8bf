/** Lists as the server makes them: search, filters, order, pages and facets over rows in memory. */
import type { Facet, FacetedPage } from "../contract/index.ts";

/** Columns that a list can be filtered by, and values of rows to sort by. */
export interface ListColumns<Row> {
  readonly facets: readonly (keyof Row & string)[];
  /** The text that is searched. */
  readonly textOf: (row: Row) => string;
}

/** Answers a query of the contract's `PageQuery`, with filters. */
export function pageOf<Row extends object>(
  all: readonly Row[],
  query: URLSearchParams,
  { facets, textOf }: ListColumns<Row>,
): FacetedPage<Row, string> {
  const words = (query.get("search") ?? "").toLowerCase().split(/\s+/);
  const searched = all.filter((row) => words.every((word) => textOf(row).toLowerCase().includes(word)));
  const matching = searched.filter((row) =>
    facets.every((name) => query.get(name)?.split(",").includes(String(row[name])) ?? true),
  );
  const [offset, limit] = [Number(query.get("offset") ?? 0), Number(query.get("limit") ?? 50)];
  return {
    rows: sorted(matching, query.get("sort") ?? "").slice(offset, offset + limit),
    ...{ matching: matching.length, total: all.length, offset, limit, away: [] },
    facets: Object.fromEntries(facets.map((name) => [name, facetsOf(searched, name)])),
  };
}

function sorted<Row extends object>(rows: readonly Row[], sort: string): readonly Row[] {
  const [name, sign] = sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
  if (name === "") return rows;
  const valueOf = (row: Row): string | number => {
    const value = Object.entries(row).find(([key]) => key === name)?.[1];
    return typeof value === "number" ? value : String(value ?? "");
  };
  return rows.toSorted((a, b) => {
    const [one, two] = [valueOf(a), valueOf(b)];
    return one === two ? 0 : one < two ? -sign : sign;
  });
}

function facetsOf<Row extends object>(rows: readonly Row[], name: keyof Row): readonly Facet[] {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(String(row[name]), (counts.get(String(row[name])) ?? 0) + 1);
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 100);
}
