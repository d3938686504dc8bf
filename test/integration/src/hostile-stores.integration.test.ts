/**
 * All five services against a NATS and a Redis that strangers write into, that hang, and that refuse writes: they start, go on serving,
 * list the values they ignore, and overwritten values are published again.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Bus, connectBus, filters } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts, type RunningServer, startNats, startRedis } from "@flotilla/servers";
import { expectServed, writeTimeout } from "./served-timeout.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-hostile-"));
const config = join(workDir, "config");
const stop = new AbortController();
const soon = (what: string) => ({ withinMs: 60_000, what });

const configure = (timeout: string) => writeTimeout(config, timeout);

let nats: RunningServer;
let redis: RunningServer;
let plane: ControlPlane;

/** Every bucket, with keys that its readers support and one that they do not. */
const buckets: Readonly<Record<string, readonly string[]>> = {
  config: ["head", "object/Sidecar/shop/a", "nonsense"],
  ledger: ["0", "1", "nonsense"],
  ca: ["rotation", "replica/other", "ledger/0", "ledger/63", "recorded-since"],
  duties: ["flotilla-leader"],
  "config-controller": ["lead", "publisher"],
  "service-controller": ["lead", "publisher"],
  "ca-lease": ["lead"],
  progress: ["service-controller"],
  distribution: ["other"],
  "trust-reports": ["other"],
  machines: ["other"],
};
const ttlMs: Readonly<Record<string, number>> = { distribution: 9_000, machines: 9_000, "trust-reports": 15_000 };
const leases = ["config-controller", "service-controller", "ca-lease", "duties"];
const poisons = ["{", "[]", "7", '{"phase":7,"version":"x","key":[]}', "\u0000\u00ff"];
const subjects = [
  "flotilla.v1.config.VirtualService.shop.web",
  "flotilla.v1.config.MeshConfig._.default",
  "flotilla.v1.config.Sidecar.shop.other",
  "flotilla.v1.service.Kubernetes_002fKubernetes.shop.web_002eshop_002esvc_002ecluster_002elocal.web",
  "flotilla.v1.endpoints.Kubernetes_002fKubernetes.shop.web_002eshop_002esvc_002ecluster_002elocal",
  "flotilla.v1.sync.config-controller",
  "flotilla.v1.sync.service-controller",
  "flotilla.v1.horizon",
  "flotilla.v1.nonsense",
];

async function plainBus(): Promise<Bus> {
  return connectBus({ url: nats.url, clientName: "test", log: noopLogger }, stop.signal);
}

async function poisonEverything(): Promise<void> {
  await using bus = await plainBus();
  const known = (await bus.lastValues(filters.everything)).map(({ subject }) => subject);
  for (const [at, subject] of [...new Set([...subjects, ...known])].entries())
    await bus.publish([{ subject, payload: Buffer.from(poisons[at % poisons.length] ?? "{"), headers: forged(at) }]);
  for (const [bucket, keys] of Object.entries(buckets)) {
    const life = ttlMs[bucket] ?? (leases.includes(bucket) ? 15_000 : undefined);
    const values = await bus.keyValue(bucket, { ...(life !== undefined && { ttlMs: life }) });
    const there = (await values.entries()).map(({ key }) => key);
    for (const [at, key] of [...new Set([...keys, ...there])].entries())
      await values.put(key, Buffer.from(poisons[at % poisons.length] ?? "{"));
  }
}

function forged(at: number): Readonly<Record<string, string>> {
  return {
    "Flotilla-Publisher": at % 2 === 0 ? "config-controller" : "service-controller",
    "Flotilla-Group": "g",
    "Flotilla-Group-Size": "1000",
    ...(at % 3 === 0 && { "Flotilla-Packed": "zstd" }),
  };
}

/** The reply as Redis sends it, to one command on a connection of its own. */
function ask(...words: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(redis.port, "127.0.0.1");
  let reply = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    reply += chunk;
    if (reply.endsWith("+OK\r\n")) socket.destroy();
  });
  socket.once("error", reject).once("close", () => resolve(reply));
  for (const command of [words, ["QUIT"]])
    socket.write(
      `*${command.length}\r\n${command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`,
    );
  return promise;
}

async function poisonRedis(): Promise<void> {
  await ask("HSET", "flotilla:v1:snapshot:about", "position", "abc", "format", "3", "checksum", "0", "epoch", "e");
  await ask("HSET", "flotilla:v1:snapshot:entries", "config VirtualService/shop/web", "poison", "nonsense", "{");
  await ask("SET", "flotilla:v1:replica:other", "{");
  await ask("SET", "flotilla:v1:replica:another", '{"streams":"many"}');
  await ask("HSET", "flotilla:v1:replica-parts:other", "group 1", '{"members":7}', "connection x", "{");
}

const pids = () => plane.services.map(({ replica, pid }) => `${replica} ${pid}`);
const readyPage = async (name: string) => {
  const { healthUrl } = plane.services.find((one) => one.name === name) ?? { healthUrl: "" };
  const response = await fetch(`${healthUrl}/ready`);
  return { status: response.status, text: await response.text() };
};

const expectServing = (timeout: string) => expectServed({ plane, config, timeout }, stop.signal);

describe("stores that strangers write into, that hang and that refuse", () => {
  before(async () => {
    mkdirSync(config, { recursive: true });
    configure("1");
    nats = await startNats({ directory: join(workDir, "servers"), env: process.env });
    redis = await startRedis({ directory: join(workDir, "servers"), env: process.env });
  });
  after(async () => {
    stop.abort();
    await plane?.[Symbol.asyncDispose]();
    await redis[Symbol.asyncDispose]();
    await nats[Symbol.asyncDispose]();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("do not stop a start, be every last value poisoned", async () => {
    await using _created = await plainBus();
    await poisonEverything();
    await poisonRedis();
    const settings = { BUS_URL: nats.url, STORE_URL: redis.url, DIGEST_INTERVAL: "2s" };
    const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
    const firstPort = await freePorts(12);
    plane = await startControlPlane({ options: { ...options, firstPort }, logs: "files", onProgress: () => undefined });
    await allReady(plane, 90_000, () => undefined, stop.signal);
    await expectServing("2");
  });

  it("stop no service that runs, and what was written over comes back", async () => {
    const before = pids();
    await poisonEverything();
    await poisonRedis();
    await expectServing("3");
    assert.match((await readyPage("xds-server")).text, /\d+ ignored: /);
    const isHealed = async () => {
      await using bus = await plainBus();
      const found = (await bus.lastValues("flotilla.v1.config.VirtualService.>")).map(({ payload }) =>
        String(Buffer.from(payload)),
      );
      return found.some((text) => text.includes('"timeout":"3s"'));
    };
    await until(isHealed, soon("the object to be published again"));
    await until(
      async () => !(await ask("HGET", "flotilla:v1:snapshot:about", "position")).includes("abc"),
      soon("the snapshot"),
    );
    assert.deepEqual(pids(), before);
    assert.equal((await readyPage("xds-server")).status, 200);
  });

  it("a Redis that hangs for longer than its calls may take", async () => {
    const before = pids();
    process.kill(redis.pid, "SIGSTOP");
    const since = performance.now();
    try {
      await expectServing("4");
      // Commands time out after 15 s: the loops that use them must outlive that.
      await until(() => performance.now() - since > 22_000, { withinMs: 60_000, what: "two time-outs", everyMs: 500 });
      await expectServing("5");
      assert.equal((await readyPage("xds-server")).status, 200);
    } finally {
      process.kill(redis.pid, "SIGCONT");
    }
    await expectServing("6");
    assert.deepEqual(pids(), before);
  });

  it("a Redis that is full, and one that is read-only", async () => {
    const before = pids();
    await ask("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await ask("CONFIG", "SET", "maxmemory", "1");
    assert.match(await ask("SET", "x", "y"), /OOM/);
    await expectServing("7");
    await ask("CONFIG", "SET", "maxmemory", "0");
    await ask("REPLICAOF", "127.0.0.1", "1");
    assert.match(await ask("SET", "x", "y"), /READONLY/);
    await expectServing("8");
    assert.equal((await readyPage("xds-server")).status, 200);
    await ask("REPLICAOF", "NO", "ONE");
    const sum = await ask("HGET", "flotilla:v1:snapshot:about", "checksum");
    configure("9");
    const isWritten = async () => (await ask("HGET", "flotilla:v1:snapshot:about", "checksum")) !== sum;
    await until(isWritten, soon("the snapshot to be written again"));
    assert.deepEqual(pids(), before);
  });
});
