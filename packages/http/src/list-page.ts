/** Lists of pages: searched, filtered, sorted and cut here, so that callers get the rows that they show and no others. */

/** How a list is searched, filtered and sorted, by the names of its columns. */
export interface ListShape<Row, Facet extends string = string> {
  /** Sort key of each column. */
  readonly columns: Readonly<Record<string, (row: Row) => string | number>>;
  /** Columns whose values are counted, and that a query of their name filters by. */
  readonly facets: Readonly<Record<Facet, (row: Row) => string>>;
  /** Where words are searched. */
  readonly text: (row: Row) => string;
  /** Name of a column; with `-` before it, descending. */
  readonly sort: string;
  /** Parameters of the query that are no filters of the list. */
  readonly others?: readonly string[];
  /** Rows of a page at most; 200 if absent. */
  readonly maxLimit?: number;
}

/** A part of a list. */
export interface ListPage<Row, Facet extends string = string> {
  readonly rows: readonly Row[];
  /** Rows that match the search and all filters. */
  readonly matching: number;
  readonly total: number;
  readonly offset: number;
  readonly limit: number;
  /** Values with the number of rows that match the search; the most frequent first. */
  readonly facets: Readonly<Record<Facet, readonly { readonly value: string; readonly count: number }[]>>;
}

/** Why a query is refused, for its caller. */
export interface ListProblem {
  readonly problem: string;
}

const defaultLimit = 50;
const defaultMaxLimit = 200;
const maxFacets = 100;
const maxWords = 10;

/** `?search=WORDS&COLUMN=VALUE,VALUE&sort=-COLUMN&offset=&limit=`; a parameter that the list does not have is a problem. */
export function listPage<Row, Facet extends string>(
  all: Iterable<Row>,
  shape: ListShape<Row, Facet>,
  query: URLSearchParams,
): ListPage<Row, Facet> | ListProblem {
  const wanted = parseQuery(shape, query);
  if ("problem" in wanted) return wanted;
  const { words, filters, sort, offset, limit } = wanted;
  const rows = [...all];
  const found = words.length === 0 ? rows : rows.filter((row) => hasWords(shape.text(row).toLowerCase(), words));
  const matching = found.filter((row) => filters.every(({ of, values }) => values.has(of(row))));
  return {
    rows: sorted(matching, sort).slice(offset, offset + limit),
    ...{ matching: matching.length, total: rows.length, offset, limit },
    facets: facetsOf(found, shape.facets),
  };
}

interface Wanted<Row> {
  readonly words: readonly string[];
  readonly filters: readonly { readonly of: (row: Row) => string; readonly values: ReadonlySet<string> }[];
  readonly sort: { readonly of: (row: Row) => string | number; readonly direction: 1 | -1 };
  readonly offset: number;
  readonly limit: number;
}

const own: readonly string[] = ["search", "sort", "offset", "limit"];

function parseQuery<Row>(shape: ListShape<Row>, query: URLSearchParams): Wanted<Row> | ListProblem {
  const facets = new Map(Object.entries(shape.facets));
  const unknown = [...query.keys()].find(
    (name) => !own.includes(name) && !facets.has(name) && !(shape.others ?? []).includes(name),
  );
  if (unknown !== undefined) return { problem: `there is no parameter ${unknown}` };
  const sortText = query.get("sort") || shape.sort;
  const column = new Map(Object.entries(shape.columns)).get(sortText.replace(/^-/, ""));
  if (column === undefined) return { problem: `sort is none of ${Object.keys(shape.columns).join(", ")}` };
  const offset = numberIn(query, "offset", 0);
  const limit = numberIn(query, "limit", defaultLimit);
  const { maxLimit = defaultMaxLimit } = shape;
  if (offset === undefined) return { problem: "offset is no number" };
  if (limit === undefined || limit > maxLimit) return { problem: `limit is no number up to ${maxLimit}` };
  const filters = [...facets].flatMap(([name, of]) => {
    const text = query.get(name) ?? "";
    return text === "" ? [] : [{ of, values: new Set(text.split(",")) }];
  });
  const words = (query.get("search") ?? "").toLowerCase().split(/\s+/).filter(Boolean).slice(0, maxWords);
  return { words, filters, sort: { of: column, direction: sortText.startsWith("-") ? -1 : 1 }, offset, limit };
}

function numberIn(query: URLSearchParams, name: string, otherwise: number): number | undefined {
  const text = query.get(name) ?? "";
  if (text === "") return otherwise;
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function hasWords(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** Rows that are equal in the column stay in their order. */
function sorted<Row>(rows: readonly Row[], { of, direction }: Wanted<Row>["sort"]): readonly Row[] {
  const keyed = rows.map((row) => ({ row, key: of(row) }));
  keyed.sort((a, b) => (a.key < b.key ? -direction : a.key > b.key ? direction : 0));
  return keyed.map(({ row }) => row);
}

function facetsOf<Row, Facet extends string>(
  rows: readonly Row[],
  facets: ListShape<Row, Facet>["facets"],
): ListPage<Row, Facet>["facets"] {
  const counted = Object.entries<(row: Row) => string>(facets).map(([name, of]) => {
    const counts = new Map<string, number>();
    for (const row of rows) counts.set(of(row), (counts.get(of(row)) ?? 0) + 1);
    const values = [...counts].map(([value, count]) => ({ value, count }));
    values.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    return [name, values.slice(0, maxFacets)] as const;
  });
  return Object.fromEntries(counted) as unknown as ListPage<Row, Facet>["facets"];
}
