/** The table of commands: each leads to the code of its own name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commands, groups } from "./commands.ts";

/** Names of functions where they are not the words of the command. */
const named: Readonly<Record<string, string>> = { console: "consoleCommand", delete: "deleteObjects" };

describe("commands", () => {
  for (const { definition, load } of commands)
    it(`flotilla ${definition.name} runs its own code`, async () => {
      const words = definition.name.split(/[ -]/);
      const camel = words.map((word, i) => (i === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
      assert.equal((await load()).name, named[definition.name] ?? camel);
    });

  it("are named once, in groups that are explained", () => {
    const names = commands.flatMap(({ definition: { name, aliases = [] } }) => [name, ...aliases]);
    assert.equal(new Set(names).size, names.length);
    const used = names.filter((name) => name.includes(" ")).map((name) => name.split(" ")[0] ?? "");
    assert.deepEqual(new Set(used), new Set(Object.keys(groups)));
  });
});
