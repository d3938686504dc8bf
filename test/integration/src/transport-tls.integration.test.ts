/** NATS and Redis over mutual TLS with certificates of ca in files, which are renewed under open connections. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, connect as connectPlain, createServer as createPlainServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createServer } from "node:tls";
import { connectBus } from "@flotilla/bus";
import { main as ca } from "@flotilla/ca";
import { run } from "@flotilla/cli/testing";
import { parseCertificatePem } from "@flotilla/pki";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { findServer, freePort, type RunningServer, startRedis } from "@flotilla/servers";
import { main as serviceController } from "@flotilla/service-controller";
import { openStore } from "@flotilla/state";
import { program } from "./local/flotilla.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-tls-"));
const stop = new AbortController();
const owned = new AsyncDisposableStack();
const ports = { ca: 0, nats: 0, redis: 0 };
const certificates = (name: string): string => join(directory, name);
let nats: ChildProcess | undefined;

/** As an operator does for a server or a client. */
async function obtain(account: string, names: readonly string[] = []): Promise<void> {
  const options = ["--namespace", "istio-system", "--service-account", account, "--ca", `127.0.0.1:${ports.ca}`];
  const more = ["--out", certificates(account), "--work-dir", directory, "--once"];
  const args = ["certificate", ...options, ...more, ...names.flatMap((name) => ["--name", name])];
  assert.equal(await run(args, process.env), 0);
}

before(async () => {
  for (const name of ["ca", "nats", "redis"] as const) ports[name] = await freePort();
  const ready = Promise.withResolvers<unknown>();
  const settings = { WORK_DIR: directory, ROOT_CA_DIR: join(directory, "none"), CA_HOST: "127.0.0.1" };
  const more = { CA_PORT: String(ports.ca), HEALTH_HOST: "127.0.0.1", HEALTH_PORT: "0", LOG_LEVEL: "silent" };
  const running = ca({ ...settings, ...more }, stop.signal, { onReady: ready.resolve });
  running.catch(ready.reject);
  owned.defer(async () => {
    stop.abort();
    await running;
  });
  await ready.promise;
  await obtain("flotilla-nats", ["localhost"]);
  await obtain("flotilla-redis", ["localhost"]);
  await obtain("flotilla-xds-server");
  await startNatsWithTls();
  owned.use(await startRedisWithTls());
});
after(async () => {
  const ended = new Promise((resolve) => nats?.once("exit", resolve) ?? resolve(undefined));
  nats?.kill("SIGTERM");
  await ended;
  await owned.disposeAsync();
  rmSync(directory, { recursive: true, force: true });
});

async function startNatsWithTls(): Promise<void> {
  const files = certificates("flotilla-nats");
  const tls = `cert_file: "${files}/tls.crt", key_file: "${files}/tls.key", ca_file: "${files}/ca.crt", verify: true`;
  const config = join(directory, "nats.conf");
  writeFileSync(config, `tls { ${tls} }\njetstream { store_dir: "${join(directory, "nats")}" }\n`);
  const binary = await findServer("nats", { env: process.env });
  nats = spawn(binary, ["--config", config, "--addr", "127.0.0.1", "--port", String(ports.nats)], { stdio: "ignore" });
}

/** Redis behind a TLS listener that asks for a client certificate: the server of the test has no TLS of its own. */
async function startRedisWithTls(): Promise<RunningServer> {
  const plain = await startRedis({ directory: join(directory, "redis"), env: process.env });
  const read = (name: string): Buffer => readFileSync(join(certificates("flotilla-redis"), name));
  const options = { cert: read("tls.crt"), key: read("tls.key"), ca: read("ca.crt"), requestCert: true };
  const server = createServer({ ...options, rejectUnauthorized: true }, (socket) => {
    const inner = connectPlain(plain.port, "127.0.0.1");
    socket.pipe(inner).pipe(socket);
    socket.on("error", () => inner.destroy());
    inner.on("error", () => socket.destroy());
    owned.defer(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(ports.redis, "127.0.0.1", resolve));
  owned.defer(() => void server.close());
  return plain;
}

describe("certificates of ca for NATS and Redis", () => {
  it("the bus works over mutual TLS, and reads renewed files when it connects again", {
    timeout: 180_000,
  }, async () => {
    const url = `tls://localhost:${ports.nats}?certificates=${certificates("flotilla-xds-server")}`;
    await using bus = await connectBus({ url, clientName: "test", log: noopLogger }, AbortSignal.timeout(20_000));
    const values = await bus.keyValue("tls");
    await values.put("a", Buffer.from("b"));
    assert.equal(Buffer.from((await values.get("a"))?.value ?? []).toString(), "b");
    await obtain("flotilla-xds-server");
    nats?.kill("SIGKILL");
    await until(() => !bus.state.connected, { withinMs: 60_000, what: "the loss" });
    await startNatsWithTls();
    await until(() => bus.state.connected, { withinMs: 60_000, what: "the bus to be back" });
    assert.equal(Buffer.from((await values.get("a"))?.value ?? []).toString(), "b");
  });

  it("a service holds its own certificate, obtained from ca while it waits for the bus", {
    timeout: 180_000,
  }, async () => {
    const own = certificates("own");
    const end = new AbortController();
    const health = await freePort();
    const running = serviceController(
      {
        ...{ WORK_DIR: directory, CA_ADDRESS: `127.0.0.1:${ports.ca}`, CLIENT_CERTIFICATE_DIR: own },
        ...{ BUS_URL: `tls://localhost:${ports.nats}?certificates=${own}`, CONFIG_DIR: directory },
        ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(health), LOG_LEVEL: "silent" },
      },
      end.signal,
    );
    owned.defer(async () => {
      end.abort();
      await running;
    });
    // It waits for what others publish: that the bus is no trouble any more is enough here.
    const troubles = async (): Promise<string> => {
      const response = await fetch(`http://127.0.0.1:${health}/ready`);
      return response.text();
    };
    const isThere = async () => existsSync(join(own, "tls.crt")) && !/bus/.test(await troubles());
    await until(isThere, { withinMs: 60_000, what: "the bus over mutual TLS" });
    const { sans } = parseCertificatePem(readFileSync(join(own, "tls.crt"), "utf8"));
    assert.deepEqual(
      sans.map(({ value }) => value),
      [
        "spiffe://cluster.local/ns/istio-system/sa/flotilla-service-controller",
        "flotilla-service-controller.istio-system.svc",
      ],
    );
    assert.equal(statSync(join(own, "tls.key")).mode & 0o777, 0o600);
  });

  it("NATS refuses who shows no certificate", async () => {
    const files = { env: { ...process.env }, log: noopLogger, clientName: "stranger" };
    const url = `tls://localhost:${ports.nats}`;
    await assert.rejects(connectBus({ ...files, url }, AbortSignal.timeout(1_500)));
  });

  it("a NATS that goes away before the handshake is tried again", async () => {
    let connections = 0;
    const info = `INFO ${JSON.stringify({ server_id: "x", version: "2.15.0", proto: 1, tls_required: true })}\r\n`;
    const dying = createPlainServer((socket) => {
      connections++;
      socket.on("error", () => undefined);
      // Sooner and later: neither the socket nor what is about to be made of it may be without somebody who listens to it.
      socket.write(info, () => setTimeout(() => socket.resetAndDestroy(), connections % 4));
    }).listen(0, "127.0.0.1");
    owned.defer(() => void dying.close());
    await once(dying, "listening");
    const url = `tls://127.0.0.1:${(dying.address() as AddressInfo).port}?certificates=${certificates("flotilla-xds-server")}`;
    const end = new AbortController();
    const attempts = Array.from({ length: 8 }, () =>
      connectBus({ url, clientName: "test", log: noopLogger }, end.signal),
    );
    const refused = Promise.all(attempts.map((attempt) => assert.rejects(attempt)));
    try {
      await until(() => connections > 16, { withinMs: 60_000, what: "each to try again" });
    } finally {
      end.abort();
    }
    await refused;
  });

  it("a bus may be closed in the moment its NATS goes", { timeout: 180_000 }, async () => {
    for (let turns = 0; turns < 40; turns++) {
      let client: Socket | undefined;
      const relay = createPlainServer((socket) => {
        client = socket.on("error", () => undefined);
        const inner = connectPlain(ports.nats, "127.0.0.1").on("error", () => undefined);
        socket.pipe(inner).pipe(socket);
      }).listen(0, "127.0.0.1");
      await once(relay, "listening");
      const { port } = relay.address() as AddressInfo;
      const url = `tls://localhost:${port}?certificates=${certificates("flotilla-xds-server")}`;
      const bus = await connectBus({ url, clientName: "test", log: noopLogger }, AbortSignal.timeout(5_000));
      const values = await bus.keyValue("tls");
      client?.end();
      // At which turn the end has been read and the socket not yet gone differs.
      for (let turn = 0; turn < turns % 10; turn++) await nextTurn();
      const writing = values.put("a", Buffer.from("c")).catch(() => undefined);
      await Promise.resolve();
      await bus[Symbol.asyncDispose]();
      await writing;
      relay.close();
    }
  });

  it("the store works over mutual TLS, and not without a certificate", { timeout: 180_000 }, async () => {
    const url = `rediss://localhost:${ports.redis}`;
    await using store = openStore({
      url: `${url}?certificates=${certificates("flotilla-xds-server")}`,
      log: noopLogger,
    });
    await until(() => store.state.connected, { withinMs: 60_000, what: "the store" });
    await using stranger = openStore({ url, log: noopLogger });
    await delay(1_000);
    assert.equal(stranger.state.connected, false);
  });

  it("the store connects once certificate and key in its files belong together", async () => {
    const mixed = certificates("mixed");
    mkdirSync(mixed);
    const copy = (from: string, name: string) => copyFileSync(join(certificates(from), name), join(mixed, name));
    for (const name of ["ca.crt", "tls.crt"]) copy("flotilla-xds-server", name);
    copy("flotilla-nats", "tls.key");
    const url = `rediss://localhost:${ports.redis}?certificates=${mixed}`;
    await using store = openStore({ url, log: noopLogger });
    const isRefused = () => !store.state.connected && /mismatch/.test(store.state.reason);
    await until(isRefused, { withinMs: 60_000, what: "the client to refuse the files" });
    copy("flotilla-xds-server", "tls.key");
    await until(() => store.state.connected, { withinMs: 60_000, what: "the store" });
  });

  it("a server gets the names of its own Service only", async () => {
    await obtain("flotilla-nats", ["flotilla-nats.istio-system.svc"]);
    const asked = [
      "--namespace",
      "istio-system",
      "--service-account",
      "flotilla-nats",
      "--name",
      "istiod.istio-system.svc",
    ];
    const where = ["--ca", `127.0.0.1:${ports.ca}`, "--out", certificates("x"), "--work-dir", directory, "--once"];
    const child = spawn(process.execPath, [program, "certificate", ...asked, ...where], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    child.stderr.on("data", (chunk) => (text += String(chunk)));
    const [code] = await once(child, "close");
    assert.equal(code, 3);
    assert.match(text, /is not one of the control plane/);
  });
});
