/** The bundle runs without the workspace, finds the files that code reads beside itself, and is the same each time. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sbomProblems } from "../supply/rules.ts";
import { bundle } from "./bundle.ts";
import { imagePrograms } from "./image-programs.ts";

describe("the bundle of the image", () => {
  const directory = mkdtempSync(join(realpathSync(tmpdir()), "flotilla-bundle-"));
  const [first, second] = [join(directory, "first"), join(directory, "second")];

  before(async () => {
    await bundle({ entries: imagePrograms, outDirectory: first });
    await bundle({ entries: imagePrograms, outDirectory: second });
  });
  after(() => rmSync(directory, { recursive: true }));

  it("is the same each time", () => {
    assert.deepEqual(contentsOf(first), contentsOf(second));
  });

  it("holds each program, and no module of the workspace or of its packages", () => {
    const files = [...contentsOf(first).keys()];
    for (const program of imagePrograms) assert.ok(files.includes(program.replace(/\.ts$/, ".js")), program);
    assert.deepEqual(
      files.filter((file) => file.endsWith(".ts") || file.includes("node_modules")),
      [],
    );
  });

  it("runs, and reads what lies beside the code", () => {
    const program = join(first, "packages/cli/bin/flotilla.js");
    assert.match(execFileSync(process.execPath, [program, "version"], { cwd: "/", encoding: "utf8" }), /^flotilla \d/);
    for (const file of ["packages/proto/src/descriptors.binpb.gz", "packages/injection/src/templates/sidecar.yaml"])
      assert.deepEqual(readFileSync(join(first, file)), readFileSync(file));
  });

  it("names the licences of its packages", () => {
    const text = readFileSync(join(first, "THIRD_PARTY_LICENSES"), "utf8");
    assert.match(text, /^=== @grpc\/grpc-js [\d.]+ Apache-2\.0$/m);
  });

  it("lists its packages in an SBOM, with the licences of this project beside it", () => {
    const text = readFileSync(join(first, "sbom.cyclonedx.json"), "utf8");
    assert.deepEqual(sbomProblems(text), []);
    const { components } = JSON.parse(text) as { readonly components: readonly { readonly purl: string }[] };
    assert.ok(components.some(({ purl }) => /^pkg:npm\/%40grpc\/grpc-js@\d/.test(purl)));
    for (const file of ["LICENSE", "NOTICE"]) assert.deepEqual(readFileSync(join(first, file)), readFileSync(file));
  });
});

function contentsOf(directory: string): ReadonlyMap<string, string> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
  return new Map(paths.map((path) => [path.slice(directory.length + 1), readFileSync(path, "base64")]));
}
