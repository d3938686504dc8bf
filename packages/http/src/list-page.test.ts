/** Lists that are searched, filtered, sorted and cut on the server. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ListShape, listPage } from "./list-page.ts";

interface Row {
  readonly name: string;
  readonly type: string;
  readonly size: number;
}

const rows: readonly Row[] = [
  { name: "reviews.shop", type: "sidecar", size: 3 },
  { name: "edge.shop", type: "router", size: 10 },
  { name: "ratings.bank", type: "sidecar", size: 2 },
];
const shape: ListShape<Row, "type"> = {
  columns: { name: ({ name }) => name, size: ({ size }) => size },
  facets: { type: ({ type }) => type },
  text: ({ name, type }) => `${name} ${type}`,
  sort: "name",
  others: ["proxyID"],
};

const shown = (query: string) => {
  const page = listPage(rows, shape, new URLSearchParams(query));
  if ("problem" in page) return page.problem;
  return page.rows.map(({ name }) => name).join(" ");
};

const cases = [
  { name: "sorts by the column of the list", query: "", expected: "edge.shop ratings.bank reviews.shop" },
  {
    name: "sorts numbers as numbers, descending",
    query: "sort=-size",
    expected: "edge.shop reviews.shop ratings.bank",
  },
  { name: "searches words in whatever order and case", query: "search=SIDECAR%20shop", expected: "reviews.shop" },
  { name: "filters by any of several values", query: "type=router,other", expected: "edge.shop" },
  { name: "cuts a page", query: "offset=1&limit=1", expected: "ratings.bank" },
  { name: "passes over what others read", query: "proxyID=a&limit=1", expected: "edge.shop" },
  { name: "refuses a parameter that it does not have", query: "typ=router", expected: "there is no parameter typ" },
  { name: "refuses a column that it does not have", query: "sort=age", expected: "sort is none of name, size" },
  { name: "refuses columns of every object", query: "sort=constructor", expected: "sort is none of name, size" },
  { name: "refuses more than 200 rows", query: "limit=201", expected: "limit is no number up to 200" },
  { name: "refuses what is no number", query: "offset=-1", expected: "offset is no number" },
] as const;

describe("a list", () => {
  for (const { name, query, expected } of cases) it(name, () => assert.equal(shown(query), expected));

  it("has more rows in a page where its shape allows them", () => {
    const page = listPage(rows, { ...shape, maxLimit: 1_000 }, new URLSearchParams("limit=1000"));
    assert.ok(!("problem" in page));
    assert.deepEqual([page.limit, page.rows.length], [1_000, 3]);
  });

  it("counts values among the rows that match the search, whatever the filters", () => {
    const page = listPage(rows, shape, new URLSearchParams("search=shop&type=router"));
    assert.ok(!("problem" in page));
    const { matching, total, facets } = page;
    assert.deepEqual({ matching, total }, { matching: 1, total: 3 });
    assert.deepEqual(facets.type, [
      { value: "router", count: 1 },
      { value: "sidecar", count: 1 },
    ]);
  });
});
