import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setVersion, versionForm, versionProblems } from "./versions.ts";

const root = join(import.meta.dirname, "../..");
const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");
const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8")) as {
  readonly version: string;
};

describe("the version of a release", () => {
  const copy = mkdtempSync(join(tmpdir(), "flotilla-versions-"));
  after(() => rmSync(copy, { recursive: true, force: true }));

  it("is the same wherever it stands in the repository", () => {
    assert.deepEqual(versionProblems(root, files, version), []);
  });

  it("is written everywhere, and a place that was left is named", () => {
    const some = files.filter((file) => /package\.json$|^k8s\/(chart\/Chart|base\/kust)|^docker-compose/.test(file));
    for (const file of some) cpSync(join(root, file), join(copy, file));
    assert.ok(setVersion(copy, some, "9.8.7-rc.1").includes("k8s/chart/Chart.yaml"));
    assert.deepEqual(versionProblems(copy, some, "9.8.7-rc.1"), []);
    assert.match(readFileSync(join(copy, "docker-compose.yml"), "utf8"), /image: flotilla:9\.8\.7-rc\.1\n/);
    cpSync(join(root, "k8s/chart/Chart.yaml"), join(copy, "k8s/chart/Chart.yaml"));
    const problem = `k8s/chart/Chart.yaml has version ${version}, not 9.8.7-rc.1`;
    assert.deepEqual(versionProblems(copy, some, "9.8.7-rc.1"), [problem, problem]);
  });

  for (const [text, isOne] of [
    ["1.2.3", true],
    ["1.2.3-rc.1", true],
    ["v1.2.3", false],
    ["1.2", false],
  ] as const)
    it(`${text} is ${isOne ? "one" : "none"}`, () => assert.equal(versionForm.test(text), isOne));
});
