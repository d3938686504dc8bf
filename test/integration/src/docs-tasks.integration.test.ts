/** The task pages of docs/, each in the mesh that docs/getting-started.md has after its step 4. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandBlocks, runInShell } from "./documented/shell-pages.ts";

const withinMs = 240_000;
const gettingStarted = commandBlocks("getting-started.md");
const [begin, end] = [gettingStarted.slice(0, 4), gettingStarted.slice(-1)];

interface Case {
  readonly page: string;
  readonly ports: readonly string[];
  /** In the output, in this order. */
  readonly shown: readonly RegExp[];
}

const cases: readonly Case[] = [
  {
    page: "tasks/traffic.md",
    ports: ["18480", "18481", "18482"],
    shown: [/^ +\d+ hello$/m, /^ +\d+ hello from v2$/m, /^200$/m, /^refused, exit code [1-9]/m],
  },
  { page: "tasks/security.md", ports: ["18480", "18481", "18490"], shown: [/^200$/m, /^200$/m, /^401$/m, /8 objects/] },
  { page: "tasks/machines.md", ports: ["18480", "18481", "18483"], shown: [/envoy|bootstrap/m] },
];

describe("each command of a task page works", () => {
  for (const { page, ports, shown } of cases)
    it(page, { timeout: withinMs + 30_000 }, async () => {
      const blocks = commandBlocks(page);
      assert.ok(blocks.length > 0);
      const { code, output, logs } = await runInShell([...begin, ...blocks, ...end], ports, withinMs);
      assert.equal(code, 0, `${output}\n${logs}`);
      let rest = output.slice(output.lastIndexOf("x-mesh: flotilla"));
      for (const wanted of shown) {
        const found = wanted.exec(rest);
        assert.ok(found, `${wanted} in ${rest}`);
        rest = rest.slice(found.index + found[0].length);
      }
    });
});
