import assert from "node:assert/strict";
import { test } from "node:test";
import { hasTest, namedTestProblems, namedTests, rowsWithoutTest } from "./named-tests.ts";

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

test("a title is that of a test or of a case, not any text of the file", () => {
  const source = `
it("is refused by name", () => {
  assert.match(text, /with its reason/);
  assert.match(text, "with its reason");
for (const one of [
  ["names of others", 1],
    "a case of several lines",
  { name: "too many streams", count: 1 },
`;
  const titles = ["refused by name", "names of others", "case of several lines", "too many streams"];
  assert.deepEqual(
    titles.filter((title) => !hasTest(source, title)),
    [],
  );
  for (const title of ["with its reason", "refused", "is refused by force"])
    assert.equal(hasTest(source, title), false);
});

test("rows without a test are found in tables that promise them only", () => {
  assert.deepEqual(rowsWithoutTest(page), [" none "]);
});

test("every test that the pages on security name is there", () => {
  assert.deepEqual(namedTestProblems(new URL("..", import.meta.url).pathname), []);
});
