import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { openProject } from "./record-lookups.ts";
import { expressionProblems, reasonAgainst } from "./regular-expressions.ts";

const cases = [
  { source: "^(a+)+$", flags: "", reason: /exponential/ },
  { source: "\\/+$", flags: "", reason: /2nd degree polynomial/ },
  { source: "^[a-z]+$", flags: "i", reason: undefined },
] as const;

for (const { source, flags, reason } of cases)
  it(`an expression that is linear is taken, another refused: /${source}/`, async () => {
    const found = await reasonAgainst({ source, flags });
    if (reason === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", reason);
  });

it("expressions that were judged safe are kept, those that were refused or another version judged are judged again", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-expressions-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const cache = join(directory, "cache/safe.json");
  writeFileSync(join(directory, "tsconfig.json"), '{ "files": ["a.ts"] }');
  writeFileSync(join(directory, "a.ts"), "export const all = [/^[a-z]+$/i, /^(a+)+$/];\n");
  const project = openProject(join(directory, "tsconfig.json"), () => true);
  const problems = async () => (await expressionProblems(project, cache)).map(({ text }) => text);
  assert.deepEqual(await problems(), ["/^(a+)+$/"]);
  const kept = JSON.parse(readFileSync(cache, "utf8")) as { readonly judge: string; readonly expressions: string[] };
  assert.deepEqual(kept.expressions, ["/^[a-z]+$/i"]);
  assert.match(kept.judge, /^recheck \d+\.\d+\.\d+ automaton$/);
  assert.deepEqual(await problems(), ["/^(a+)+$/"]);
  writeFileSync(cache, JSON.stringify({ judge: "recheck 0.0.0 automaton", expressions: ["/^(a+)+$/"] }));
  assert.deepEqual(await problems(), ["/^(a+)+$/"]);
});
