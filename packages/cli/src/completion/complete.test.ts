import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { recordRun } from "../recorded-run.fixture.ts";

/** Candidates for the words after `flotilla`, without descriptions. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { code, out } = await recordRun(["__complete", "--", ...words]);
  assert.equal(code, 0);
  return out.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

const cases: readonly (readonly [words: readonly string[], expected: readonly string[]])[] = [
  [["vers"], ["version"]],
  [
    ["ca", ""],
    ["status", "rotate", "abort"],
  ],
  [["ca", "ro"], ["rotate"]],
  [["nowhere", ""], []],
  [["version", "--sh"], ["--short"]],
  [
    ["version", "-o", ""],
    ["table", "wide", "json", "yaml"],
  ],
  [["version", "--output", "js"], ["json"]],
  [["version", "--output=js"], ["--output=json"]],
  // bash takes the word apart, and replaces what follows the sign.
  [["version", "--output", "=", "js"], ["json"]],
  [["version", "--short", "--rem"], ["--remote"]],
  [["validate", "-f", ""], [":file"]],
  [["up", "--config", ""], [":directory"]],
  [["logs", "xds"], ["xds-server"]],
  [["logs", "ca", "xds"], ["xds-server"]],
  [["get", "virtuals"], ["virtualservices"]],
  [["get", "-n", "shop", "destinationr"], ["destinationrules"]],
  [["get", "vs", ""], []],
  [["delete", "gatewayc"], ["gatewayclasses"]],
  [["pc", "li"], ["listeners"]],
  [["proxy-config", "routes", ""], []],
  [["explain", "web.shop", "r"], ["rds"]],
  [
    ["request", "P"],
    ["POST", "PUT"],
  ],
  [["logs", "--level", "w"], ["warn"]],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
];

describe("completion", () => {
  for (const [words, expected] of cases)
    it(`of ${JSON.stringify(words)}`, async () => assert.deepEqual(await offered(...words), expected));

  it("offers every command and group with its sentence", async () => {
    const { out } = await recordRun(["__complete", "--", ""]);
    assert.match(out, /^status\tshow services/m);
    assert.match(out, /^ca\treplace the root/m);
  });

  it("refuses a shell that has no script", async () => {
    const { code, err } = await recordRun(["completion", "tcsh"]);
    assert.equal(code, 2);
    assert.match(err, /tcsh is none of bash, zsh, fish/);
  });
});

describe("completion scripts in their shells", () => {
  const directory = mkdtempSync(join(tmpdir(), "completion-"));
  const script = (shell: string) => join(directory, `flotilla.${shell}`);
  before(async () => {
    const program = fileURLToPath(new URL("../../bin/flotilla.ts", import.meta.url));
    const wrapper = join(directory, "flotilla");
    writeFileSync(wrapper, `#!/bin/sh\nexec ${JSON.stringify(process.execPath)} ${JSON.stringify(program)} "$@"\n`);
    chmodSync(wrapper, 0o755);
    for (const shell of ["bash", "zsh", "fish"])
      writeFileSync(script(shell), (await recordRun(["completion", shell])).out);
  });
  after(() => rmSync(directory, { recursive: true }));

  const run = (program: string, args: readonly string[]): readonly string[] => {
    const env = { ...process.env, PATH: `${directory}:${process.env["PATH"]}`, HOME: directory };
    const { stdout, stderr, status } = spawnSync(program, args, { env, encoding: "utf8", timeout: 60_000 });
    assert.equal(status, 0, stderr);
    return stdout.trim().split(/\s+/);
  };
  const isAbsent = (program: string) =>
    spawnSync(program, ["-c", "true"]).status !== 0 && `this host has no ${program}: its script was NOT tested`;

  it("bash", { skip: isAbsent("bash") }, () => {
    const ask = `source "$0"; COMP_WORDS=(flotilla ca ro); COMP_CWORD=2; _flotilla; printf '%s\\n' "\${COMPREPLY[@]}"`;
    assert.deepEqual(run("bash", ["--norc", "-c", ask, script("bash")]), ["rotate"]);
  });

  it("fish", { skip: isAbsent("fish") }, () => {
    const ask = `source ${script("fish")}; complete -C 'flotilla ca ro'`;
    assert.equal(run("fish", ["--no-config", "-c", ask])[0], "rotate");
  });

  it("zsh", { skip: isAbsent("zsh") }, () => {
    // Outside of an editor the shell cannot complete: what would be shown is printed instead.
    const ask = `compdef() { :; }; _describe() { print -l -- "\${described[@]}"; }; source "$0"; words=(flotilla ca ro); CURRENT=3; _flotilla`;
    assert.match(run("zsh", ["-f", "-c", ask, script("zsh")]).join(" "), /^rotate:go over|^rotate:/);
  });
});
