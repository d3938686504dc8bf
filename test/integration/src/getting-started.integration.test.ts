/** docs/getting-started.md, as a reader would type it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { commandBlocks, runInShell } from "./documented/shell-pages.ts";

const withinMs = 300_000;

it("docs/getting-started.md works from the first command to the last", { timeout: withinMs + 30_000 }, async () => {
  const blocks = commandBlocks("getting-started.md");
  assert.equal(blocks.length, 6);
  const { code, output, logs } = await runInShell(blocks, ["18480", "18481"], withinMs);
  assert.equal(code, 0, `${output}\n${logs}`);
  assert.match(output, /^hello$/m);
  assert.match(output, /^x-mesh: flotilla/m);
  assert.match(output, /^web\.shop|web\.shop +synced/m);
});
