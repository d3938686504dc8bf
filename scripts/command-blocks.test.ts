import assert from "node:assert/strict";
import { test } from "node:test";
import { problemsOfPage } from "./command-blocks.ts";

const block = "```sh\nls\n```";
const cases: readonly (readonly [name: string, page: string, problems: readonly string[]])[] = [
  ["a page whose test is named", `<!-- run by a.test.ts -->\n\n${block}\n\n${block}`, []],
  ["a page that states why it is not run", `<!-- not run: needs a cluster -->\n\ntext\n\n${block}`, []],
  ["a page without a statement", `text\n\n${block}`, ["line 3: a block that no test runs, without the reason"]],
  [
    "a statement above a block, which holds for this block alone",
    `<!-- not run: needs a Consul -->\n${block}\n\n${block}`,
    ["line 6: a block that no test runs, without the reason"],
  ],
  ["a test that there is not", `<!-- run by b.test.ts -->\n\n${block}`, ["line 1: there is no b.test.ts"]],
  ["an indented block", "text\n\n    ls\n    pwd", ["line 3: a block that no test runs, without the reason"]],
  ["drawings and text", "```mermaid\na\n```\n\n```\nb\n```", []],
];
for (const [name, page, problems] of cases)
  test(name, () =>
    assert.deepEqual(
      problemsOfPage(page, (path) => path === "a.test.ts"),
      problems,
    ),
  );
