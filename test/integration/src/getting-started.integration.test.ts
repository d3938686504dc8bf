/** docs/getting-started.md, as a reader would type it: one shell, from top to bottom, with ports that are free. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort, freePorts } from "@flotilla/servers";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
// Short: sockets of proxies stand below it.
const directory = mkdtempSync(join(tmpdir(), "gs-"));
const withinMs = 300_000;

function blocksOf(page: string): readonly string[] {
  return [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
}

/** `flotilla` as it is installed, but for the ports of `serve`. */
async function installCommand(): Promise<void> {
  const program = [process.execPath, join(repository, "packages/cli/bin/flotilla.ts")]
    .map((part) => `"${part}"`)
    .join(" ");
  const ports = `case "$1" in serve) shift; set -- serve --xds-port ${await freePorts(12)} "$@" ;; esac`;
  const file = join(directory, "flotilla");
  writeFileSync(file, `#!/bin/sh\n${ports}\nexec ${program} "$@"\n`);
  chmodSync(file, 0o755);
}

describe("docs/getting-started.md", () => {
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("works from the first command to the last", { timeout: withinMs + 30_000 }, async () => {
    await installCommand();
    const page = readFileSync(join(repository, "docs/getting-started.md"), "utf8");
    const blocks = blocksOf(page);
    assert.equal(blocks.length, 6);
    const [listener, backend] = [await freePort(), await freePort()];
    const script = blocks.join("\n").replaceAll("18480", String(listener)).replaceAll("18481", String(backend));
    const env = {
      ...process.env,
      PATH: `${directory}:${process.env["PATH"]}`,
      FLOTILLA_WORK_DIR: join(directory, "work"),
    };
    // In a group of its own, so that nothing of it outlives the test.
    const shell = spawn("bash", ["-xeuo", "pipefail", "-c", script], { cwd: directory, env, detached: true });
    let output = "";
    for (const stream of [shell.stdout, shell.stderr])
      stream.on("data", (chunk) => {
        output += String(chunk);
      });
    const timer = setTimeout(() => shell.pid !== undefined && process.kill(-shell.pid, "SIGTERM"), withinMs);
    const [code] = await once(shell, "exit");
    clearTimeout(timer);
    const logs = ["serve.log", "web.log"].map((name) => join(directory, name)).filter((file) => existsSync(file));
    assert.equal(code, 0, [output, ...logs.map((file) => readFileSync(file, "utf8"))].join("\n"));
    assert.match(output, /^hello$/m);
    assert.match(output, /^x-mesh: flotilla/m);
    assert.match(output, /^web\.shop|web\.shop +synced/m);
  });
});
