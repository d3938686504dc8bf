import assert from "node:assert/strict";
import { test } from "node:test";
import { namedTestProblems, namedTests, rowsWithoutTest } from "./named-tests.ts";

const page = `| a | test |
|---|---|
| bound | \`x/a.test.ts\`: "is refused", \`x/b.test.ts\`: "ends" |
| none | – |

| other | table |
|---|---|
| free | – |
`;

test("a row names tests by file and words of their titles", () => {
  assert.deepEqual(namedTests(page), [
    { file: "x/a.test.ts", title: "is refused" },
    { file: "x/b.test.ts", title: "ends" },
  ]);
});

test("rows without a test are found in tables that promise them only", () => {
  assert.deepEqual(rowsWithoutTest(page), [" none "]);
});

test("every test that the pages on security name is there", () => {
  assert.deepEqual(namedTestProblems(new URL("..", import.meta.url).pathname), []);
});
