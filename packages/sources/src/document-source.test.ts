/** One document in a text or in a file: which versions count, and why others are refused. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { type DocumentCheck, type DocumentVersion, documentSource, readDocumentAside } from "./document-source.ts";

const check: DocumentCheck = ({ bad }) => (bad === undefined ? [] : [{ field: "bad", reason: `is ${bad}` }]);

describe("a document", () => {
  const good: readonly (readonly [name: string, text: string, value: object])[] = [
    ["that is empty", "", {}],
    ["of comments alone", "# nothing\n", {}],
    ["behind comments and a marker", "# mesh\n---\na: 1\n", { a: 1 }],
    ["of YAML", "a: {b: [1]}\n", { a: { b: [1] } }],
    ["of JSON", '{"a": 1}', { a: 1 }],
    ["before others, which do not count", "a: 1\n---\nb: 2\n", { a: 1 }],
  ];
  for (const [name, text, value] of good)
    it(`${name} is read`, async () =>
      assert.deepEqual(await readDocumentAside("mesh.yaml", text, check), { value, problems: [] }));

  const refused: readonly (readonly [name: string, text: string, line: number, reason: RegExp])[] = [
    ["a list", "- a\n", 1, /^is no object but a plain value or a list$/],
    ["a text", "\n\nhello\n", 3, /^is no object/],
    ["what the check refuses", "bad: worse\n", 1, /^is worse$/],
    ["what the check refuses, further down", "# a\n---\n\nbad: worse\n", 4, /^is worse$/],
    ["no YAML", "a: 1\nb: [\n", 2, /./],
  ];
  for (const [name, text, line, reason] of refused)
    it(`is refused when it is ${name}, with its line`, async () => {
      const { value, problems } = await readDocumentAside("mesh.yaml", text, check);
      assert.equal(value, undefined);
      assert.deepEqual([problems[0]?.file, problems.length > 0], ["mesh.yaml", true]);
      assert.ok((problems[0]?.line ?? 0) >= line, `line ${problems[0]?.line}`);
      assert.match(problems[0]?.reason ?? "", reason);
    });

  it("has the field that the check names", async () => {
    assert.equal((await readDocumentAside("mesh.yaml", "bad: worse\n", check)).problems[0]?.field, "bad");
  });

  it("of a megabyte is parsed in a thread, and the main thread goes on", async () => {
    const provider = (at: number) => `- name: provider-${at}\n  envoyOtelAls: {service: otel-${at}, port: 4317}\n`;
    const text = `extensionProviders:\n${Array.from({ length: 18_000 }, (_, at) => provider(at)).join("")}`;
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    const before = process.threadCpuUsage();
    const { value, problems } = await readDocumentAside("mesh.yaml", text, check);
    const { user, system } = process.threadCpuUsage(before);
    clearInterval(turning);
    const { extensionProviders = [] } = value as { readonly extensionProviders?: readonly object[] };
    assert.deepEqual([extensionProviders.length, problems], [18_000, []]);
    assert.ok(turns > 10, `${turns} turns of the event loop`);
    assert.ok(user + system < 300_000, `${user + system} µs of CPU`);
  });
});

describe("a document in a file", () => {
  const directory = mkdtempSync(join(tmpdir(), "document-"));
  after(() => rmSync(directory, { recursive: true }));

  it("comes in good versions that differ, a wrong text keeps the last one", async () => {
    const path = join(directory, "mesh.yaml");
    writeFileSync(path, "a: 1\n");
    let calls = 0;
    const onProblems = () => void calls++;
    await using source = documentSource({ path, check, onProblems });
    const stop = new AbortController();
    const versions = source.versions(stop.signal)[Symbol.asyncIterator]();
    const next = async () => ((await versions.next()).value as DocumentVersion).value;
    assert.deepEqual(await next(), { a: 1 });
    assert.deepEqual(source.problems(), []);
    const seen = calls;
    assert.ok(seen > 0);
    const second = next();
    writeFileSync(path, "# the same\na: 1\n");
    writeFileSync(path, "bad: worse\n");
    await until(() => source.problems().length > 0, { withinMs: 60_000, what: "the problem" });
    assert.deepEqual(
      source.problems().map(({ file, field, reason }) => [file, field, reason]),
      [[path, "bad", "is worse"]],
    );
    writeFileSync(path, "a: 2\n");
    assert.deepEqual(await second, { a: 2 });
    assert.deepEqual([source.problems(), calls > seen], [[], true]);
    const last = versions.next();
    stop.abort();
    assert.equal((await last).done, true);
  });
});
