/** `flotilla validate`: what it prints in each form, and its exit code. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { recordRun } from "../recorded-run.fixture.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-validate-"));
after(() => rmSync(directory, { recursive: true }));
const head = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a, namespace: shop}\n";
const route = (prefix: string) => `  - match: [{uri: {prefix: ${prefix}}}]\n    route: [{destination: {host: a}}]\n`;
const files = {
  good: `${head}spec:\n  hosts: [a]\n  http:\n${route("/a")}`,
  doubtful: `${head}spec:\n  hosts: [a]\n  http:\n${route("/a")}${route("/a/b")}`,
  bad: `${head}spec: {hosts: [a], htp: []}\n`,
};
const file = (name: string) => join(directory, `${name}.yaml`);
for (const [name, text] of Object.entries(files)) writeFileSync(file(name), text);

const validate = (...args: readonly string[]) => recordRun(["validate", ...args]);

describe("flotilla validate", () => {
  it("counts objects, errors and warnings", async () => {
    assert.deepEqual(await validate("-f", file("good")), {
      code: 0,
      out: "1 object, 0 errors, 0 warnings\n",
      err: "",
    });
  });

  it("prints errors with their place, and ends with 3", async () => {
    const { code, out } = await validate("-f", file("bad"));
    const lines = out.trim().split("\n");
    assert.equal(code, 3);
    assert.match(lines[0] ?? "", /bad\.yaml:\d+:\d+: error: VirtualService shop\/a: spec\.htp: /);
    assert.match(lines.at(-1) ?? "", /^1 object, [1-9]\d* errors?, 0 warnings$/);
  });

  it("ends with 0 where there are warnings alone", async () => {
    const { code, out } = await validate("-f", file("doubtful"));
    assert.equal(code, 0);
    assert.match(out, /: warning: VirtualService shop\/a: /);
    assert.match(out, /^1 object, 0 errors, 1 warning$/m);
  });

  it("takes several files, and directories", async () => {
    const both = await validate("-f", file("good"), "-f", file("bad"));
    assert.match(both.out, /^2 objects, /m);
    const all = await validate("-f", directory);
    assert.deepEqual([all.code, /^3 objects, /m.test(all.out)], [3, true]);
  });

  it("warns of an object that stands in two places", async () => {
    const { out } = await validate("-f", file("good"), "-f", file("doubtful"));
    assert.match(
      out,
      /good\.yaml:1:1: warning: VirtualService shop\/a: is in .*doubtful\.yaml:1 already|doubtful\.yaml:1:1: warning: VirtualService shop\/a: is in .*good\.yaml:1 already/,
    );
  });

  it("names a file that cannot be read, and leaves out names that begin with a dot", async () => {
    const own = mkdtempSync(join(tmpdir(), "flotilla-validate-"));
    writeFileSync(join(own, ".hidden.yaml"), "no object");
    assert.match((await validate("-f", own)).out, /^0 objects/);
    symlinkSync(join(own, "nowhere"), join(own, "link.yaml"));
    const { code, err } = await validate("-f", own);
    rmSync(own, { recursive: true });
    assert.equal(code, 2);
    assert.match(err, /link\.yaml cannot be read: it is a link that leads nowhere/);
  });

  it("prints JSON", async () => {
    const { code, out } = await validate("-f", file("doubtful"), "-o", "json");
    const { checked, errors, warnings } = JSON.parse(out) as Record<string, unknown>;
    assert.deepEqual([code, checked, errors, warnings], [0, 1, 0, 1]);
  });

  it("prints SARIF", async () => {
    const { code, out } = await validate("-f", file("bad"), "-o", "sarif");
    const { runs } = JSON.parse(out) as { runs: readonly { results: readonly { level: string }[] }[] };
    assert.equal(code, 3);
    assert.equal(runs[0]?.results[0]?.level, "error");
  });

  it("needs a file", async () => {
    const { code, err } = await validate();
    assert.notEqual(code, 0);
    assert.match(err, /validate needs -f FILE/);
  });
});
