/** Hosts that a control plane cannot run on: for each an error states the remedy in a sentence, and nothing is left behind. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";
import { freePorts } from "@flotilla/servers";
import { program, root } from "./local/flotilla.ts";
import { SmallDisk } from "./local/small-disk.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-host-"));
after(() => rmSync(directory, { recursive: true, force: true }));

/** An older one that this host has; undefined where it has none. */
function olderNode(): string | undefined {
  const candidates = (process.env["PATH"] ?? "").split(delimiter).flatMap((folder) => globSync(join(folder, "node")));
  return candidates.find((file) => {
    const major = Number(/^v(\d+)/.exec(spawnSync(file, ["--version"], { encoding: "utf8" }).stdout)?.[1]);
    return major >= 16 && major < 24;
  });
}

async function serve(workDir: string) {
  const args = ["serve", "--embedded", "--work-dir", workDir, "--xds-port", String(await freePorts(10))];
  return spawnSync(process.execPath, ["--", program, ...args], { encoding: "utf8", timeout: 120_000, cwd: root });
}

describe("a host with", () => {
  const older = olderNode();

  it("an older Node", { skip: older === undefined && "no Node older than 24 on PATH" }, () => {
    const { status, stderr } = spawnSync(older ?? "", [join(root, "packages/cli/bin/flotilla.mjs"), "version"], {
      encoding: "utf8",
    });
    assert.equal(status, 1);
    assert.match(stderr, /^flotilla needs Node 24 or newer and this is v\d+\S*: install a newer one/);
  });

  it("a read-only work directory", { skip: SmallDisk.reason, timeout: 150_000 }, async () => {
    using disk = new SmallDisk(join(directory, "disk"), 8);
    assert.equal(spawnSync("mount", ["-o", "remount,ro", disk.path]).status, 0);
    const workDir = join(disk.path, "work");
    const { status, stderr } = await serve(workDir);
    assert.notEqual(status, 0);
    assert.match(stderr, /EROFS.*name a directory that can be written \(WORK_DIR, --work-dir\)/s);
    assert.ok(!existsSync(workDir));
  });
});
