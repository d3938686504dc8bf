import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { commands } from "../commands.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const isAbsent = spawnSync("groff", ["--version"]).status !== 0 && "this host has no groff: pages were NOT formatted";

describe("manual pages", () => {
  it("hold name, options, environment and exit codes of a command", async () => {
    const { code, out } = await recordRun(["man", "ca", "rotate"]);
    assert.equal(code, 0);
    assert.match(out, /^\.TH "FLOTILLA\\-CA\\-ROTATE" 1/);
    assert.match(out, /^\.SH NAME\nflotilla\\-ca\\-rotate \\- /m);
    assert.match(out, /^\.TP\n\.B \\-\\-work\\-dir <DIR>$/m);
    assert.match(out, /^\.SH ENVIRONMENT\n\.TP\n\.B FLOTILLA_WORK_DIR$/m);
    assert.match(out, /^\.SH EXIT STATUS$/m);
  });

  it("name every command in the overview", async () => {
    const { out } = await recordRun(["man"]);
    for (const { definition } of commands)
      assert.ok(out.includes(`\n.B ${definition.name.replaceAll("-", "\\-")}\n`), definition.name);
  });

  it("are refused for what is no command", async () => {
    const { code, err } = await recordRun(["man", "nothing"]);
    assert.equal(code, 2);
    assert.match(err, /there is no command nothing/);
  });

  it("are formatted without a warning", { skip: isAbsent }, async () => {
    for (const name of ["", ...commands.map(({ definition }) => definition.name)]) {
      const { out } = await recordRun(["man", ...name.split(" ").filter((word) => word !== "")]);
      const { status, stderr } = spawnSync("groff", ["-man", "-Tascii", "-ww", "-z"], { input: out, encoding: "utf8" });
      assert.deepEqual({ status, stderr }, { status: 0, stderr: "" }, name);
    }
  });
});
