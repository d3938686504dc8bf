/** A control plane of small programs: what is started with which settings, kept running, recorded, and released. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { healthPort, paths, portsFrom, services } from "../layout.ts";
import { readRunning } from "../running.ts";
import { allReady } from "./all-ready.ts";
import { type StartControlPlaneOptions, startControlPlane } from "./control-plane.ts";
import { fakePrograms } from "./fake-programs.fixture.ts";
import { isAlive } from "./processes.ts";
import { formatTable, tableRows } from "./service-table.ts";
import { openShared } from "./shared-servers.ts";
import type { SupervisionEvent } from "./supervised.ts";

const programs = fakePrograms();
const root = mkdtempSync(join(tmpdir(), "flotilla-control-plane-"));
after(() => {
  programs[Symbol.dispose]();
  rmSync(root, { recursive: true, force: true });
});
let directories = 0;
const addresses = { BUS_URL: "nats://bus.example:4222", STORE_URL: "redis://store.example:6379" };
const running = new AbortController().signal;
const soon = (what: string) => ({ withinMs: 60_000, what });

type Given = Partial<StartControlPlaneOptions["options"]> & Partial<Omit<StartControlPlaneOptions, "options">>;

async function begin({ logs = "files", onProgress = () => undefined, onEvent, prepare, stop, ...more }: Given = {}) {
  const options = {
    ...{
      embedded: false,
      config: undefined,
      mesh: undefined,
      networks: undefined,
      workDir: join(root, `${directories++}`),
    },
    ...{ firstPort: await freePorts(12), ...more, settings: { ...programs.settings, ...more.settings } },
  };
  return startControlPlane({
    ...{ options, logs, onProgress },
    ...(onEvent && { onEvent }),
    ...(prepare && { prepare }),
    ...(stop && { stop }),
  });
}

describe("a control plane of processes", () => {
  it("has a replica of each service and both servers, ready by their pages, until it is disposed of", async () => {
    const plane = await begin();
    const { layout, servers, shared } = plane;
    const place = paths(layout);
    await allReady(plane, 60_000, () => undefined, running);
    assert.deepEqual(
      plane.services.map(({ name, replica }) => [name, replica]),
      services.filter((name) => name !== "console").map((name) => [name, name]),
    );
    assert.deepEqual([shared.busUrl, shared.storeUrl], [servers.nats?.url, servers.redis?.url]);
    assert.deepEqual([statSync(layout.workDir).mode & 0o777, statSync(place.sealKey).mode & 0o777], [0o700, 0o600]);
    assert.equal(statSync(place.compiledCode).mode & 0o777, 0o700);
    assert.equal(readFileSync(place.sealKey).length, 32);
    const record = readRunning(layout.workDir);
    assert.deepEqual(
      record?.services.map(({ replica, pid }) => [replica, pid]),
      plane.services.map(({ replica, pid }) => [replica, pid]),
    );
    const pids = [...plane.services, servers.nats, servers.redis].map((one) => one?.pid ?? 0);
    assert.deepEqual(pids.filter(isAlive), pids);
    const rows = (await tableRows(plane)).map(({ name, state, pid, restarts, listens, detail }) => {
      assert.ok(pids.includes(pid ?? 0));
      return [name, state, restarts, listens.replaceAll(/:\d+/g, ""), detail];
    });
    assert.deepEqual(rows, [
      ["nats", "ready", 0, "", ""],
      ["redis", "ready", 0, "", ""],
      ["ca", "ready", 0, " (gRPC)  (health)", ""],
      ["config-controller", "ready", 0, " (health)", ""],
      ["service-controller", "ready", 0, " (health)", ""],
      ["xds-server", "ready", 0, " (xDS)  (xDS, TLS)  (debug)  (health)", ""],
      ["webhook", "ready", 0, " (HTTPS)  (health)", ""],
    ]);
    await plane[Symbol.asyncDispose]();
    assert.deepEqual([pids.filter(isAlive), readRunning(layout.workDir)], [[], undefined]);
  });

  it("gives each service its own credentials, and the store to xds-server alone", async () => {
    await using plane = await begin();
    const { layout, servers } = plane;
    const shown = async (name: (typeof services)[number]) => {
      const page = await fetch(`http://127.0.0.1:${healthPort(name, layout.ports)}/environment`);
      return (await page.json()) as Readonly<Record<string, string>>;
    };
    await allReady(plane, 60_000, () => undefined, running);
    const [ca, xdsServer] = [await shown("ca"), await shown("xds-server")];
    const keyOf = (url = "") => basename(new URL(url).searchParams.get("nkey") ?? "").split(".")[0];
    assert.deepEqual([keyOf(ca["BUS_URL"]), keyOf(xdsServer["BUS_URL"])], ["ca", "xds-server"]);
    assert.notEqual(new URL(xdsServer["STORE_URL"] ?? "").search, "");
    assert.equal(ca["STORE_URL"], undefined);
    assert.deepEqual(
      [new URL(ca["BUS_URL"] ?? "").host, new URL(xdsServer["STORE_URL"] ?? "").host],
      [`127.0.0.1:${servers.nats?.port}`, `127.0.0.1:${servers.redis?.port}`],
    );
    const own = plane.environment("xds-server");
    assert.deepEqual(
      Object.keys(own).filter((key) => own[key] !== xdsServer[key]),
      [],
    );
  });

  it("starts again what ends, a server on its port, and shows it", async () => {
    const events: SupervisionEvent[] = [];
    await using plane = await begin({ onEvent: (event) => events.push(event) });
    const { servers, services: all } = plane;
    await allReady(plane, 60_000, () => undefined, running);
    const port = servers.redis?.port;
    const ca = all.find(({ name }) => name === "ca") ?? assert.fail("no ca");
    const pids = [ca.pid, servers.redis?.pid];
    for (const pid of pids) process.kill(pid ?? 0, "SIGKILL");
    await until(() => events.filter(({ kind }) => kind === "started").length === 2, soon("both to be started again"));
    await allReady(plane, 60_000, () => undefined, running);
    assert.deepEqual(
      events
        .filter(({ kind }) => kind === "ended")
        .map(({ name }) => name)
        .sort(),
      ["ca", "redis"],
    );
    assert.ok(!pids.includes(ca.pid) && !pids.includes(servers.redis?.pid) && servers.redis?.port === port);
    const record = readRunning(plane.layout.workDir)?.services.find(({ name }) => name === "ca");
    assert.deepEqual([record?.pid, record?.restarts], [ca.pid, 1]);
    const table = formatTable(await tableRows(plane));
    assert.match(table, /^ca +ready +\d+ +1 .*\n {2}restarted at \d\d:\d\d:\d\d: signal SIGKILL$/m);
    assert.match(table, /^redis +ready +\d+ +1 .*\n {2}restarted at .*: signal SIGKILL$/m);
  });

  it("shows a service that ends again and again, and when it is started next", async () => {
    await using plane = await begin({ settings: { ...addresses, FAKE_ENDS: "webhook" } });
    const webhook = plane.services.find(({ name }) => name === "webhook") ?? assert.fail("no webhook");
    await until(() => webhook.supervised.state.kind === "waiting", soon("the wait for the next start"));
    const row = (await tableRows(plane)).find(({ name }) => name === "webhook");
    assert.deepEqual([row?.state, row?.pid], ["restarting", undefined]);
    assert.match(row?.detail ?? "", /^ended: exit code 3; next start at \d\d:\d\d:\d\d$/);
  });

  it("uses the servers that settings name, and names settings that there are not", async () => {
    const progress: string[] = [];
    const settings = { ...addresses, PILOT_CERT_PROVIDE: "1" };
    await using plane = await begin({ settings, onProgress: (text) => progress.push(text) });
    assert.deepEqual(
      [plane.servers, plane.shared.busUrl, plane.shared.storeUrl],
      [{}, addresses.BUS_URL, addresses.STORE_URL],
    );
    assert.deepEqual(plane.shared.settingsOf("ca"), { BUS_URL: addresses.BUS_URL });
    assert.deepEqual(plane.shared.settingsOf("xds-server"), addresses);
    assert.deepEqual(
      progress.filter((text) => text.includes("PILOT_")),
      ["PILOT_CERT_PROVIDE has no effect: it is a setting of no service; PILOT_CERT_PROVIDER is one"],
    );
  });

  it("has several replicas of a service behind its ports", async () => {
    await using plane = await begin({ settings: addresses, replicas: { "xds-server": 2 } });
    const of = plane.services.filter(({ name }) => name === "xds-server");
    assert.deepEqual(
      of.map(({ replica }) => replica),
      ["xds-server-1", "xds-server-2"],
    );
    const { ports } = plane.layout;
    assert.ok(of.every((one) => one.ports.xds !== ports.xds));
    assert.equal(plane.environment("xds-server")["XDS_PORT"], String(of[0]?.ports.xds));
    await allReady(plane, 60_000, () => undefined, running);
    const rows = (await tableRows(plane)).filter(({ name }) => name.startsWith("xds-server"));
    assert.deepEqual(
      rows.map(({ listens }) => listens),
      of.map(
        (one) =>
          `:${ports.xds} (xDS) :${ports.xdsTls} (xDS, TLS) :${ports.http} (debug) :${one.ports.xdsHealth} (health)`,
      ),
    );
  });
});

describe("a control plane that cannot start", () => {
  it("releases its work directory when preparing fails, or it is stopped before", async () => {
    const workDir = join(root, "prepared");
    await assert.rejects(
      begin({ workDir, settings: addresses, prepare: () => Promise.reject(new Error("no sample")) }),
      /no sample/,
    );
    const stop = AbortSignal.abort(new Error("stopped by SIGTERM"));
    const prepare = () => assert.fail("it is stopped");
    await assert.rejects(begin({ workDir, settings: addresses, stop, prepare }), /stopped by SIGTERM/);
    const key = readFileSync(paths({ workDir }).sealKey);
    await using _ = await begin({ workDir, settings: addresses });
    assert.deepEqual(readFileSync(paths({ workDir }).sealKey), key);
    await assert.rejects(begin({ workDir, settings: addresses }), { code: "CLI_IN_USE" });
  });

  it("has started nothing when a port is taken", async () => {
    const firstPort = await freePorts(12);
    const other = createServer();
    await once(other.listen(firstPort + 3, "127.0.0.1"), "listening");
    const workDir = join(root, "taken");
    await assert.rejects(begin({ workDir, firstPort, settings: addresses }), { code: "CLI_PORT_TAKEN" });
    other.close();
    assert.equal(existsSync(paths({ workDir }).state), false);
  });

  it("waits for processes of the one before, but not for others that have their numbers", async () => {
    const workDir = join(root, "left");
    mkdirSync(workDir);
    const start = async (text: string) => {
      const child = spawn(process.execPath, ["-e", "process.stdin.resume()", text], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      await once(child, "spawn");
      return child;
    };
    const [left, other] = [await start("services/ca/bin/main.ts"), await start("an editor")];
    const services = [
      { name: "ca", replica: "ca", healthUrl: "", pid: left.pid, restarts: 0 },
      { name: "webhook", replica: "webhook", healthUrl: "", pid: other.pid, restarts: 0 },
      { name: "xds-server", replica: "xds-server", healthUrl: "", pid: process.pid, restarts: 0 },
    ];
    writeFileSync(paths({ workDir }).state, JSON.stringify({ pid: 1, ports: portsFrom(1), services }));
    setTimeout(() => left.stdin.end(), 200);
    await using _ = await begin({
      ...{ workDir, settings: addresses },
      prepare: async () => assert.deepEqual([isAlive(left.pid ?? 0), isAlive(other.pid ?? 0)], [false, true]),
    });
    other.stdin.end();
  });

  it("is over when a setting of a service is wrong", async () => {
    const report = "[SETTINGS_INVALID] LOG_LEVEL is loud";
    using own = fakePrograms();
    own.replace("webhook", `process.send({ failed: "${report}" }, () => process.exit(1))`);
    await using plane = await begin({ settings: { ...addresses, ...own.settings } });
    await assert.rejects(plane.ended, { code: "CLI_USAGE", message: `[CLI_USAGE] webhook cannot start: ${report}` });
  });
});

it("a control plane in one process needs no servers", async () => {
  await using owned = new AsyncDisposableStack();
  const workDir = join(root, "embedded");
  const options = { embedded: true, workDir, settings: programs.settings } as StartControlPlaneOptions["options"];
  const given = { options, layout: { workDir, ports: portsFrom(1) }, stop: running };
  const fail = () => assert.fail("nothing is started");
  const { shared, servers } = await openShared({ ...given, onProgress: fail, onEvent: fail }, owned);
  const url = `embedded:${workDir}`;
  assert.deepEqual([servers, shared.settingsOf("ca")], [{}, { BUS_URL: url, STORE_URL: url }]);
});
