import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { commands } from "../commands.ts";
import type { CommandDefinition } from "../parse/definition.ts";
import { recordRun } from "../recorded-run.fixture.ts";
import { commandPage, overviewPage } from "./page.ts";

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

  it("have the examples of a command, and no heading for them where there are none", () => {
    const definition = commands.map((one) => one.definition).find(({ examples }) => examples.length > 0);
    assert.ok(definition !== undefined);
    const of = (examples: CommandDefinition["examples"]) =>
      commandPage({ ...definition, examples }, { version: "1", commands: [] });
    assert.match(of([["up --demo", "with a demo"]]), /^\.SH EXAMPLES\n\.TP\n\.B flotilla up \\-\\-demo\nwith a demo$/m);
    assert.doesNotMatch(of([]), /EXAMPLES/);
  });

  it("list each command of the overview under its own heading", () => {
    const first = commands[0]?.definition;
    assert.ok(first !== undefined);
    const shown = (name: string, group: string) => ({ ...first, name, summary: `does ${name}`, group });
    const page = overviewPage({ version: "1", commands: [shown("a", "One:"), shown("b", "Two:"), shown("c", "One:")] });
    const listed = page.slice(page.indexOf(".SH COMMANDS"), page.indexOf(".SH EXIT")).match(/(?<=^\.SS |^\.B )\w+$/gm);
    assert.deepEqual(listed, ["One", "a", "c", "Two", "b"]);
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
