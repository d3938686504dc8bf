/** A local user without the files of the work directory does nothing to a control plane's NATS and Redis. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectBus, filters } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { createLogger, noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { openStore } from "@flotilla/state";
import { repository } from "./transport/manifests.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-credentials-"));
const stop = new AbortController();
let plane: ControlPlane;

async function startPlane(): Promise<ControlPlane> {
  const common = { embedded: false, mesh: undefined, networks: undefined, workDir, firstPort: await freePorts(12) };
  const settings = process.env as Record<string, string>;
  const options = { ...common, settings, config: join(repository, "samples/demo") };
  const started = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  await allReady(started, 90_000, () => undefined, stop.signal);
  return started;
}

/** Every file below, with its mode. */
function filesBelow(directory: string): readonly (readonly [path: string, mode: number])[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => [path, statSync(path).mode & 0o777]);
}

describe("credentials of a control plane on one host", () => {
  const credentials = join(workDir, "credentials");
  before(async () => {
    plane = await startPlane();
  });
  after(async () => {
    stop.abort();
    await plane?.[Symbol.asyncDispose]();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("clients without credentials neither write nor read an object", async () => {
    const before = await objects();
    assert.ok(before.length > 0);
    const stranger = { url: plane.shared.busUrl, clientName: "config-controller", log: noopLogger };
    await assert.rejects(connectBus(stranger, AbortSignal.timeout(1_500)), /abort|timeout/i);
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(line) });
    await using store = openStore({ url: plane.shared.storeUrl, log });
    await until(() => /NOAUTH/.test(lines.join("")), { withinMs: 60_000, what: "the refusal of Redis" });
    await assert.rejects(store.load(), { code: "STATE_AWAY" });
    assert.deepEqual(await objects(), before);
  });

  it("one service's do not write another's objects", async () => {
    const before = await objects();
    const [subject = ""] = before.find((one) => one.includes(".ServiceEntry."))?.split(" ") ?? [];
    await using bus = await asXdsServer();
    assert.notEqual(subject, "");
    const refused = (): number => natsLog().split(`Publish Violation - Subject "${subject}"`).length - 1;
    // The bus tries again until it is closed.
    const publishing = bus.publish([{ subject, payload: new TextEncoder().encode("{}") }]);
    publishing.catch(() => undefined);
    await until(() => refused() > 0, { withinMs: 60_000, what: "the refusal" });
    assert.deepEqual(await objects(), before);
  });

  it("are in files of the work directory's owner, in no command line and in no log", () => {
    assert.equal(statSync(credentials).mode & 0o777, 0o700);
    const files = filesBelow(credentials);
    assert.equal(files.length, 6);
    for (const [path, mode] of files) assert.equal(mode, 0o600, path);
    const processes = execFileSync("ps", ["-eww", "-o", "args="], { encoding: "utf8" });
    const logs = [join(workDir, "logs"), join(workDir, "servers")].flatMap(filesBelow).map(([path]) => path);
    for (const [path] of files) {
      const secret = readFileSync(path, "utf8");
      assert.ok(!processes.includes(secret), `${path} is on a command line`);
      for (const log of logs.filter((file) => file.endsWith(".log")))
        assert.ok(!readFileSync(log, "utf8").includes(secret), `${path} is in ${log}`);
    }
  });

  it("are others after the next start, which works on the same data", async () => {
    const before = {
      objects: await objects(),
      files: filesBelow(credentials).map(([path]) => readFileSync(path, "utf8")),
    };
    await plane[Symbol.asyncDispose]();
    plane = await startPlane();
    assert.deepEqual(await objects(), before.objects);
    for (const [path] of filesBelow(credentials)) assert.ok(!before.files.includes(readFileSync(path, "utf8")), path);
  });

  function natsLog(): string {
    return readFileSync(join(workDir, "servers", "nats.log"), "utf8");
  }

  function asXdsServer() {
    const url = plane.environment("xds-server")["BUS_URL"] ?? "";
    return connectBus({ url, clientName: "xds-server", log: noopLogger }, stop.signal);
  }

  async function objects(): Promise<readonly string[]> {
    await using bus = await asXdsServer();
    return (await bus.lastValues(filters.config)).map(({ subject, sequence }) => `${subject} ${sequence}`);
  }
});
