/** Envoy as a child process, with a small program in its place that has an admin page. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startEnvoy } from "./envoy-process.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-envoy-process-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Ready at the third question; a bootstrap with `fail` or `abort` ends it at once, one with `deaf` makes it ignore SIGTERM. */
writeFileSync(
  join(root, "envoy.mjs"),
  `import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
const args = process.argv.slice(2);
const of = (name) => args[args.indexOf(name) + 1];
const bootstrap = JSON.parse(readFileSync(of("-c"), "utf8"));
console.error("starting");
if (bootstrap.fail) { console.error("no such cluster"); process.exit(3); }
if (bootstrap.abort) process.kill(process.pid, "SIGKILL");
if (bootstrap.deaf) process.on("SIGTERM", () => console.error("deaf"));
let looks = 0;
const server = createServer((request, response) => {
  if (request.url === "/ready") response.writeHead(++looks < 3 ? 503 : 200).end();
  else if (request.url === "/config_dump?include_eds") response.end(JSON.stringify({ args }));
  else response.end("cluster.a.total: 7\\nhistogram: P0(1,2)\\nlistener.b: 0\\nasked: " + request.url + "\\n");
}).listen(0, "127.0.0.1", () => writeFileSync(of("--admin-address-path"), "127.0.0.1:" + server.address().port));`,
);
const binary = join(root, "envoy");
writeFileSync(binary, `#!/bin/sh\nexec ${process.execPath} ${join(root, "envoy.mjs")} "$@"\n`, { mode: 0o755 });

const start = (name: string, bootstrap: Readonly<Record<string, boolean>> = {}) =>
  startEnvoy({ binary, directory: join(root, "envoys"), name, bootstrap });

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a process of Envoy", () => {
  it("has its bootstrap and its log, and no memory that it shares with others", async () => {
    await using one = await start("one", { a: true });
    assert.deepEqual(JSON.parse(readFileSync(join(root, "envoys/one.json"), "utf8")), { a: true });
    assert.equal(one.logFile, join(root, "envoys/one.log"));
    assert.match(readFileSync(one.logFile, "utf8"), /starting/);
    const { args } = (await one.configDump()) as unknown as { readonly args: readonly string[] };
    assert.ok(args.includes("--disable-hot-restart"));
  });
  it("is ready once its page is, and reports the counters that match", async () => {
    await using envoy = await start("ready");
    await envoy.ready(20_000);
    const stats = await envoy.stats(/^cluster\./);
    assert.deepEqual(
      [...stats],
      [
        ["cluster.a.total", 7],
        ["listener.b", 0],
      ],
    );
  });
  it("does not take the admin page of an earlier process of its name", async () => {
    const before = await start("again");
    await before[Symbol.asyncDispose]();
    await using after = await start("again");
    assert.notEqual(after.adminUrl, before.adminUrl);
    await after.ready(20_000);
  });
  it("that ends at its start is an error with the end of its log", async () => {
    await assert.rejects(start("failing", { fail: true }), /failing ended with 3: [\s\S]*no such cluster/);
    await assert.rejects(start("aborting", { abort: true }), /aborting ended with SIGKILL: [\s\S]*starting/);
  });
  it("that cannot be started is an error", async () => {
    await assert.rejects(
      startEnvoy({ binary: join(root, "none"), directory: join(root, "envoys"), name: "none", bootstrap: {} }),
      (error: Error) => /cannot start .*none as none/.test(error.message) && /ENOENT/.test(String(error.cause)),
    );
  });
  it("ends with its owner, also when it ignores the request, and again without an effect", async () => {
    for (const deaf of [false, true]) {
      const envoy = await start(`ending-${deaf}`, { deaf });
      await envoy[Symbol.asyncDispose]();
      assert.equal(isAlive(envoy.pid), false);
      await envoy[Symbol.asyncDispose]();
    }
    assert.ok(existsSync(join(root, "envoys/ending-true.log")));
  });
});
