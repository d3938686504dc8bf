/** Records of a test file: what it runs, kept while nothing that it loaded changes. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openTestRecords, runsPlace } from "./test-records.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-records-test-"));
after(() => rmSync(root, { recursive: true, force: true }));
const directory = join(root, "records");
const open = () => openTestRecords({ root, directory, withinMs: 60_000 });

const source = "export const one = () => 1;\nexport const two = () => 2;\n";
writeFileSync(join(root, "numbers.ts"), source);
const testOf = (name: string, body: string): string => {
  const file = join(root, name);
  const head = `import assert from "node:assert/strict"; import { it } from "node:test"; import { one, two } from "./numbers.ts";\n`;
  writeFileSync(file, head + body);
  return file;
};
const test = testOf("one.test.ts", `it("is one", () => assert.equal(one(), 1)); export const other = two;`);

describe("the record of a test file", () => {
  it("holds the places that it runs", async () => {
    const record = await open().of(test);
    assert.equal(record.isPassed, true);
    assert.deepEqual(Object.keys(record.files).toSorted(), ["numbers.ts", "one.test.ts", "pnpm-lock.yaml"]);
    assert.equal(runsPlace(record, "numbers.ts", source.indexOf("1;")), true);
    assert.equal(runsPlace(record, "numbers.ts", source.indexOf("2;")), false);
    assert.equal(runsPlace(record, "elsewhere.ts", 0), false);
  });
  it("is taken anew when a file that it loaded changed, and only then", async () => {
    const { seconds } = await open().of(test);
    assert.equal((await open().of(test)).seconds, seconds);
    writeFileSync(join(root, "numbers.ts"), `${source}two();\n`);
    const record = await open().of(test);
    assert.notEqual(record.seconds, seconds);
    assert.equal(runsPlace(record, "numbers.ts", source.indexOf("2;")), true);
  });
  it("is taken anew when the dependencies changed", async () => {
    const { seconds } = await open().of(test);
    writeFileSync(join(root, "pnpm-lock.yaml"), "lockfileVersion: '9.0'\n");
    assert.notEqual((await open().of(test)).seconds, seconds);
  });
  it("is not kept of one that fails", async () => {
    const before = readdirSync(directory);
    const failing = testOf("bad.test.ts", `it("is two", () => assert.equal(one(), two()));`);
    assert.equal((await open().of(failing)).isPassed, false);
    assert.deepEqual(readdirSync(directory), before);
  });
});
