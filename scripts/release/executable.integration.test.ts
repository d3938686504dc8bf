/** The single executable, where there is no Node: it shows its version, serves with services of its own, and ends by a signal. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { cacheFolder, freePorts } from "../../packages/servers/src/index.ts";
import { projectRoot } from "../bundle/bundle.ts";
import { bundleRelease } from "../bundle/release.ts";
import { buildExecutable, platforms } from "./executable.ts";

const platform = platforms.find((one) => one === `${process.platform}-${process.arch}`);
const skip = platform === undefined && `no executables are made for ${process.platform}-${process.arch}`;

describe("the single executable", { skip }, () => {
  // Short: sockets stand in it.
  const directory = mkdtempSync(join(tmpdir(), "fl-sea-"));
  const program = join(directory, "flotilla");
  const cache = join(directory, "cache");
  const workDir = ["--work-dir", join(directory, "work")];
  const known = cacheFolder(process.env);
  const others = existsSync(known) ? readdirSync(known).filter((name) => !name.startsWith("bundle-")) : [];
  // No Node on the path.
  const env = { PATH: "/usr/bin:/bin", HOME: directory, FLOTILLA_CACHE: cache };
  const flotilla = (...args: readonly string[]) => spawnSync(program, args, { env, encoding: "utf8", cwd: "/" });

  const unpackedIn = () => readdirSync(cache).filter((name) => !others.includes(name));

  before(
    async () => {
      // NATS and Redis that were fetched before.
      mkdirSync(cache);
      for (const name of others) symlinkSync(join(known, name), join(cache, name));
      const bundled = join(directory, "bundle");
      await bundleRelease(bundled);
      if (platform !== undefined) buildExecutable({ root: projectRoot, bundle: bundled, platform, out: program });
    },
    { timeout: 300_000 },
  );
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("names no path of the machine that made it, on which its bytes would depend", () => {
    assert.ok(!readFileSync(program).includes(projectRoot));
  });

  it("shows its version, and unpacks itself once, for its user alone", () => {
    assert.match(flotilla("version").stdout, /^flotilla \d+\.\d+\.\d+ /);
    assert.match(flotilla("gte").stderr, /Did you mean get\?/);
    const [unpacked = "", ...more] = unpackedIn();
    assert.match(unpacked, /^bundle-[0-9a-f]{32}$/);
    assert.deepEqual(more, []);
    assert.equal(statSync(join(cache, unpacked)).mode & 0o077, 0);
    assert.ok(existsSync(join(cache, unpacked, "packages/console/dist/page/index.html")), "the page of the console");
  });

  it("serves with five processes of its own, and ends with 0 by SIGTERM", { timeout: 240_000 }, async () => {
    const xdsPort = String(await freePorts(12));
    const child = spawn(program, ["serve", "--xds-port", xdsPort, ...workDir], {
      ...{ env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        output += String(chunk);
      });
    const isReady = () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output}`);
      return flotilla("status", ...workDir).status === 0;
    };
    try {
      await until(isReady, { withinMs: 180_000, what: "every service to be ready", everyMs: 500 });
      assert.match(flotilla("status", "-o", "wide", ...workDir).stdout, /^xds-server +ready +\d+/m);
    } finally {
      child.kill("SIGTERM");
    }
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.equal(flotilla("status", ...workDir).status, 4);
  });

  it("runs no code from a directory that others may write", () => {
    const [unpacked = ""] = unpackedIn();
    chmodSync(join(cache, unpacked), 0o777);
    const { status, stderr } = flotilla("version");
    assert.equal(status, 1);
    assert.match(stderr, /others may write there.*FLOTILLA_CACHE names another directory/);
  });

  it("names the setting where it cannot unpack", () => {
    const { status, stderr } = spawnSync(program, ["version"], {
      ...{ env: { ...env, FLOTILLA_CACHE: join(program, "cache") }, encoding: "utf8" },
    });
    assert.equal(status, 1);
    assert.match(stderr, /^flotilla: cannot unpack itself: ENOTDIR.*FLOTILLA_CACHE names another directory/);
  });
});
