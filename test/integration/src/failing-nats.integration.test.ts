/**
 * All five services against a NATS that hangs or refuses buckets just after they have connected: none of them ends, and
 * they serve when it answers.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { freePorts, type RunningServer, startNats, startRedis } from "@flotilla/servers";
import { expectServed, writeTimeout } from "./served-timeout.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-failing-nats-"));
const stop = new AbortController();
const account = (maxStreams: number) =>
  `accounts { MESH { jetstream { max_streams: ${maxStreams} }, users: [{ user: mesh, password: mesh }] } }`;

interface World extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly config: string;
  /** Processes that ended or were started again. */
  readonly events: readonly unknown[];
}

let redis: RunningServer;

async function start(name: string, busUrl: string): Promise<World> {
  const workDir = join(directory, name);
  const config = join(workDir, "config");
  mkdirSync(config, { recursive: true });
  writeTimeout(config, "1");
  const events: unknown[] = [];
  const settings = { BUS_URL: busUrl, STORE_URL: redis.url };
  const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
  const firstPort = await freePorts(12);
  const plane = await startControlPlane({
    options: { ...options, firstPort },
    logs: "files",
    onProgress: () => undefined,
    onEvent: (event) => events.push(event),
  });
  return { plane, config, events, [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose]() };
}

const logOf = (name: string, service: string) =>
  readFileSync(join(directory, name, "logs", `${service}.log`), "utf8").split("\n");

async function page({ plane }: World, service: string): Promise<string> {
  const { healthUrl } = plane.services.find(({ name }) => name === service) ?? { healthUrl: "" };
  return (await fetch(`${healthUrl}/ready`)).text();
}

async function expectAllServing(world: World): Promise<void> {
  await allReady(world.plane, 90_000, () => undefined, stop.signal);
  await expectServed({ ...world, timeout: "2" }, stop.signal);
  assert.deepEqual(world.events, []);
}

// Each has a control plane of its own, and waits most of its time.
describe("a NATS that fails after the services have connected", { concurrency: true }, () => {
  before(async () => {
    redis = await startRedis({ directory: join(directory, "servers"), env: process.env });
  });
  after(async () => {
    stop.abort();
    await redis[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it("that has room for no bucket: they wait, and serve when it has", async () => {
    const servers = join(directory, "refusing-servers");
    await using nats = await startNats({ directory: servers, env: process.env, authorization: account(1) });
    const url = nats.url.replace("//", "//mesh:mesh@");
    // The stream of the fleet takes the only place.
    await using _bus = await connectBus({ url, clientName: "test", log: noopLogger }, stop.signal);
    await using world = await start("refusing", url);
    const failures = (service: string) =>
      logOf("refusing", service).filter((line) => line.includes("background work failed"));
    const using = ["config-controller", "service-controller", "xds-server", "ca"];
    await until(() => using.every((service) => failures(service).length > 0), {
      withinMs: 60_000,
      what: "every service that uses buckets to be refused one",
    });
    // Attempts go on; the same failure is logged once.
    await delay(5_000);
    for (const service of using) {
      const texts = failures(service).map((line) => (JSON.parse(line) as { readonly what: string }).what);
      assert.deepEqual(texts, [...new Set(texts)], service);
      // `flotilla status` shows the conditions of this page.
      assert.match(await page(world, service), /background work .*"fails and is tried again: /s, service);
    }
    assert.deepEqual(world.events, []);
    const file = join(servers, "nats.conf");
    writeFileSync(file, readFileSync(file, "utf8").replace(account(1), account(100)));
    process.kill(nats.pid, "SIGHUP");
    await expectAllServing(world);
  });

  it("that hangs for longer than its calls may take", async () => {
    await using nats = await startNats({ directory: join(directory, "hanging-servers"), env: process.env });
    await using world = await start("hanging", nats.url);
    await until(async () => !(await page(world, "config-controller")).includes("waiting for"), {
      withinMs: 60_000,
      what: "config-controller to be connected",
    });
    process.kill(nats.pid, "SIGSTOP");
    try {
      // A bucket is given up after 15 s, and 5 s for the last answer.
      await delay(22_000);
      assert.deepEqual(world.events, []);
    } finally {
      process.kill(nats.pid, "SIGCONT");
    }
    await expectAllServing(world);
  });
});
