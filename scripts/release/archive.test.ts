import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { writeArchive } from "./archive.ts";

describe("an archive of a release", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-archive-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  const write = (name: string, { mode, time }: { readonly mode: number; readonly time: number }): Buffer => {
    const cwd = join(directory, name);
    for (const file of ["k8s/chart/b.yaml", "k8s/chart/a.yaml"]) {
      mkdirSync(join(cwd, "k8s/chart"), { recursive: true });
      writeFileSync(join(cwd, file), file);
      chmodSync(join(cwd, file), mode);
      utimesSync(join(cwd, file), time, time);
    }
    const out = join(directory, `${name}.tgz`);
    const files = ["k8s/chart/b.yaml", "k8s/chart/a.yaml"];
    writeArchive({ cwd, files, out, prefix: "flotilla", strip: "k8s/chart/" });
    return readFileSync(out);
  };

  it("has the same bytes whenever and under whatever umask it is made", () => {
    assert.deepEqual(write("one", { mode: 0o600, time: 1 }), write("two", { mode: 0o664, time: 1_000_000 }));
  });

  it("has its files below the name it is given, in order", () => {
    write("three", { mode: 0o644, time: 1 });
    const archive = join(directory, "three.tgz");
    const tar = (...args: readonly string[]) => execFileSync("tar", [...args], { encoding: "utf8" });
    assert.equal(tar("-tzf", archive), "flotilla/a.yaml\nflotilla/b.yaml\n");
    assert.equal(tar("-xzOf", archive, "flotilla/b.yaml"), "k8s/chart/b.yaml");
  });

  it("fails with the name of the file that is not there", () => {
    const out = join(directory, "none.tgz");
    assert.throws(
      () => writeArchive({ cwd: directory, files: ["none.txt"], out, prefix: "x" }),
      /none\.tgz: tar ended with 2: .*none\.txt/s,
    );
  });
});
