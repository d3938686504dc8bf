/**
 * `flotilla serve` with two replicas of xds-server as users run it: proxies are spread and found wherever they are connected,
 * what is killed comes back while the others go on, and a stop leaves nothing.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { copySample, healthOf, isAlive, type MeshFolder, type RunningReplica } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { allPids, type Launched, launch, nothingLeft, program, serverPid } from "./local/flotilla.ts";
import { Watcher } from "./replicas/watcher.ts";

const execute = promisify(execFile);
const watcherCount = 6;
const proxies = Array.from({ length: watcherCount }, (_, i) => `watcher-${i}.shop`);

describe("a supervised control plane with replicas", () => {
  const owned = new AsyncDisposableStack();
  const watchers: Watcher[] = [];
  let plane: Launched;
  let mesh: MeshFolder;

  const soon = (what: string) => ({ withinMs: 90_000, what, everyMs: 100 });
  const services = () => plane.running()?.services ?? [];
  const service = (replica: string): RunningReplica => {
    const found = services().find((one) => one.replica === replica);
    assert.ok(found, `${replica} is not recorded`);
    return found;
  };
  const flotilla = async (...args: readonly string[]) =>
    (await execute(process.execPath, [program, ...args, "--work-dir", plane.workDir])).stdout;
  const streamsOf = async ({ healthUrl }: RunningReplica): Promise<number> => {
    const page = await (await fetch(`${healthUrl}/debug/connections`)).json();
    return (page as { readonly totalClients: number }).totalClients;
  };

  before(async () => {
    plane = owned.use(
      await launch({
        command: [process.execPath, program, "serve"],
        args: ["--replicas", "xds-server=2"],
        // As users run it: the runner of these tests keeps compiled code elsewhere, for all that they start.
        env: { NODE_COMPILE_CACHE: undefined },
      }),
    );
    await plane.ready();
  });
  after(() => owned.disposeAsync());

  it("spreads proxies over the replicas behind one address", async () => {
    mesh = copySample(plane.workDir);
    // The API opens once config-controller has its certificate, which readiness does not wait for.
    await until(() => flotilla("apply", "-f", mesh.path).then(Boolean), soon("the mesh to be written"));
    for (let i = 0; i < watcherCount; i++) watchers.push(owned.use(new Watcher(`127.0.0.1:${plane.firstPort}`, i)));
    await until(() => watchers.every(({ isSynced }) => isSynced), soon("all proxies to be synced"));
    // One that is handed to the other replica is on neither for a moment.
    const counts = () => Promise.all([service("xds-server-1"), service("xds-server-2")].map(streamsOf));
    const isEven = async () => (await counts()).every((count) => count === watcherCount / 2);
    await until(isEven, soon("as many proxies on each"));
  });

  it("lists every replica, and explains and dumps a proxy wherever it is connected", async () => {
    const rows = ["xds-server-1", "xds-server-2", "ca"].map((replica) => {
      const { pid, healthUrl } = service(replica);
      return new RegExp(`^${replica} +ready +${pid} +0 +${healthUrl}$`, "m");
    });
    // On a busy machine a service that has just started may take longer to answer than status waits.
    await until(async () => {
      const table = await flotilla("status", "--output", "wide").catch(String);
      return rows.every((row) => row.test(table));
    }, soon("a table with every replica"));
    const { healthUrl } = service("xds-server-1");
    const dump = async (proxy: string) => (await fetch(`${healthUrl}/debug/config_dump?proxyID=${proxy}`)).status;
    await until(
      async () => (await Promise.all(proxies.map(dump))).every((status) => status === 200),
      soon("replicas to know of each other's proxies"),
    );
    const cluster = "outbound|8080|v1|reviews.shop.svc.cluster.local";
    // A proxy that a replica has just handed to the other one is on neither for a moment.
    for (const proxy of proxies)
      await until(
        async () => (await flotilla("explain", proxy, "cds", cluster)).includes(` of ${proxy}, version`),
        soon(`the explanation of ${proxy}`),
      );
  });

  it("keeps compiled code for restarts, for its own user", async () => {
    const directory = join(plane.workDir, "compiled-code");
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    const files = () =>
      readdirSync(directory, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    await until(() => files().length > 0, soon("compiled code to be saved"));
  });

  for (const name of ["xds-server-2", "ca", "config-controller", "service-controller", "webhook"]) {
    it(`starts ${name} again when it is killed, and leaves the others alone`, async () => {
      const before = new Map(services().map(({ replica, pid }) => [replica, pid]));
      const killed = service(name);
      assert.ok(killed.pid !== undefined);
      process.kill(killed.pid, "SIGKILL");
      const isBack = async () => {
        const now = service(name);
        return now.pid !== killed.pid && now.pid !== undefined && (await healthOf(now)).state === "ready";
      };
      const started = performance.now();
      await until(isBack, soon(`${name} to be ready again`));
      console.log(`      ready again after ${Math.round(performance.now() - started)} ms`);
      assert.equal(service(name).restarts, killed.restarts + 1);
      for (const { replica, pid } of services()) if (replica !== name) assert.equal(pid, before.get(replica), replica);
      await until(() => plane.output().includes('"reason":"signal SIGKILL"'), soon("the log of it"));
    });
  }

  for (const name of ["nats", "redis"]) {
    it(`starts ${name} again when it is killed, on its port and data: changes still arrive`, async () => {
      const before = services();
      const killed = serverPid(plane.workDir, name);
      assert.ok(killed !== undefined);
      process.kill(killed, "SIGKILL");
      await until(() => ![undefined, killed].includes(serverPid(plane.workDir, name)), soon(`${name} to be back`));
      const subset = name === "nats" ? "v2" : "v1";
      mesh.routeAllTo(subset);
      await until(
        () => flotilla("apply", "-f", join(mesh.path, "routes.yaml")).then(() => true),
        soon("the change to be written"),
      );
      const hasArrived = () => watchers.every((watcher) => watcher.routesTo(subset) && watcher.isSynced);
      await until(hasArrived, soon("the change to arrive"));
      assert.deepEqual(services(), before);
    });
  }

  it("stops in order on SIGTERM, with exit code 0, and leaves nothing", async () => {
    const pids = allPids(plane.workDir);
    assert.equal(pids.length, 9);
    plane.child.kill("SIGTERM");
    assert.equal(await plane.ended, 0);
    assert.deepEqual(pids.filter(isAlive), []);
    await nothingLeft(plane.workDir);
  });
});

describe("a service", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-settings-"));
  after(() => rmSync(directory, { recursive: true, force: true }));

  interface Case {
    readonly name: string;
    /** Of the services. */
    readonly settings: string;
    readonly exitCode: number;
    readonly lastLine: RegExp;
  }

  const cases: readonly Case[] = [
    {
      name: "that crashes again and again ends the command with the reason",
      settings: "NODE_OPTIONS=--require=/no/such/module.cjs",
      exitCode: 1,
      lastLine:
        /^flotilla: \[CLI_SERVICE_ENDED\] \S+ ended 5 times within 60 s without getting ready: .*no.such.module/,
    },
    {
      name: "for a mistake in a setting ends the command at once",
      settings: "LOG_LEVEL=loud",
      exitCode: 2,
      lastLine: /^flotilla: \[CLI_USAGE\] \S+ cannot start: \[SETTINGS_INVALID\] LOG_LEVEL="loud"/,
    },
  ];

  for (const [index, { name, settings, exitCode, lastLine }] of cases.entries())
    it(name, { timeout: 200_000 }, async () => {
      const envFile = join(directory, `${index}.env`);
      writeFileSync(envFile, `${settings}\n`);
      await using plane = await launch({
        command: [process.execPath, "--", program, "up"],
        args: ["--env-file", envFile],
      });
      assert.equal(await plane.ended, exitCode);
      assert.match(plane.output().trimEnd().split("\n").at(-1) ?? "", lastLine);
      await nothingLeft(plane.workDir);
    });
});
