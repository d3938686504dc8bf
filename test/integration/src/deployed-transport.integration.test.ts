/**
 * The five services over mutual TLS, as k8s/base starts them: certificates of NATS and Redis from ca, which needs neither to sign,
 * renewed under open connections.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { connectBus } from "@flotilla/bus";
import { parseCertificatePem } from "@flotilla/pki";
import { createLogger, noopLogger, until } from "@flotilla/runtime";
import { openStore } from "@flotilla/state";
import "./transport/resolve-here.ts";
import { Deployed, services } from "./transport/deployed.ts";
import { repository } from "./transport/manifests.ts";

interface Connections {
  readonly connections: readonly {
    readonly cid: number;
    readonly authorized_user?: string;
    readonly tls_version?: string;
  }[];
}

describe("the transport as it is deployed", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-deployed-"));
  let deployed: Deployed;
  let redisHasTls = false;

  before(async () => {
    deployed = await Deployed.in(directory);
    // All at once, as kubectl applies them: the servers wait for ca, the services for the servers.
    const config = join(directory, "config");
    cpSync(join(repository, "samples/demo"), config, { recursive: true });
    await deployed.startService("ca");
    for (const service of services.slice(1)) await deployed.startService(service, { CONFIG_DIR: config });
    await Promise.all([deployed.startCertificate("nats"), deployed.startCertificate("redis")]);
    await deployed.startNats();
    redisHasTls = await deployed.startRedis();
  });
  after(async () => {
    await deployed[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const connections = async () => ((await deployed.natsPage("connz?auth=1")) as Connections).connections;
  const users = async () => [...new Set((await connections()).map((one) => one.authorized_user))].sort();

  it("all services are ready, each with a name of its own at NATS", { timeout: 180_000 }, async () => {
    await deployed.allReady();
    const expected = services.map((service) => `flotilla-${service}.istio-system.svc`).sort();
    assert.deepEqual(await users(), expected);
    for (const { tls_version } of await connections()) assert.equal(tls_version, "1.3");
    assert.doesNotMatch(deployed.log("nats"), /Violation/, "no service asks for what it may not");
  });

  it("each service was given one certificate, for its port and its connections", () => {
    const issued = deployed
      .log("ca")
      .split("\n")
      .filter((line) => line.includes('"msg":"certificate issued"'))
      .map((line) => (JSON.parse(line) as { readonly identity: string }).identity.replace(/.*\//, ""));
    // ca issues its own itself.
    for (const account of services.slice(1).map((service) => `flotilla-${service}`))
      assert.deepEqual([account, issued.filter((one) => one === account).length], [account, 1]);
  });

  it("a certificate of the mesh that is none of the control plane's does not open NATS", async () => {
    // Of the same CA, for another account.
    const url = `tls://flotilla-nats.istio-system.svc:${deployed.ports.nats}?certificates=${deployed.certificates("redis")}`;
    await assert.rejects(
      connectBus({ url, clientName: "workload", log: noopLogger }, AbortSignal.timeout(2_000)),
      /abort|timeout/i,
    );
    assert.match(deployed.log("nats"), /authentication error/);
  });

  it("without a certificate there is no Redis", async () => {
    const url = `rediss://flotilla-redis.istio-system.svc:${deployed.ports.redis}`;
    await using stranger = openStore({ url, log: noopLogger });
    await assert.rejects(
      until(() => stranger.state.connected, { withinMs: 1_000, what: "it" }),
      /it/,
    );
  });

  it("a certificate of the mesh alone reads nothing of Redis", async () => {
    const url = `rediss://flotilla-redis.istio-system.svc:${deployed.ports.redis}?certificates=${deployed.certificates("nats")}`;
    await using workload = openStore({ url, log: noopLogger });
    await until(() => workload.state.connected, { withinMs: 60_000, what: "the connection" });
    await assert.rejects(workload.load(), /NOPERM|EXECABORT/);
    await assert.rejects(workload.claim(), /NOPERM/);
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(line) });
    await using _guessing = openStore({ url: url.replace("//", "//xds-server:guessed@"), log });
    await until(() => /WRONGPASS/.test(lines.join("")), { withinMs: 60_000, what: "the refusal" });
  });

  it("renewed certificates are served at once, and no connection ends for it", { timeout: 180_000 }, async () => {
    const before = { nats: serialIn("nats"), redis: await servedByRedis(), reloads: reloads() };
    const open = (await connections()).map(({ cid }) => cid).sort();
    // Holders of a certificate get another when the roots change.
    appendFileSync(deployed.rootFile, "\n");
    await until(() => serialIn("nats") !== before.nats, { withinMs: 60_000, what: "renewal" });
    await until(() => reloads() > before.reloads, { withinMs: 60_000, what: "the reload of NATS" });
    const isOther = async () => (await servedByRedis()) !== before.redis;
    await until(isOther, { withinMs: 60_000, what: "the new certificate of Redis" });
    assert.deepEqual((await connections()).map(({ cid }) => cid).sort(), open);
    await deployed.allReady();
    // Redis shows it before the command that made it reload has its answer.
    const isLogged = () => deployed.log("redis-certificate").includes("certificate reloaded by the server");
    if (redisHasTls) await until(isLogged, { withinMs: 60_000, what: "the log of the reload" });
  });

  it("ca knows the mesh before it issues, also after a restart with nothing kept but its root", {
    timeout: 180_000,
  }, async () => {
    await deployed.stop("ca");
    rmSync(deployed.certificates("ca"), { recursive: true });
    rmSync(join(directory, "ca/ca/mesh.json"));
    const linesBefore = deployed.log("ca").length;
    await deployed.startService("ca");
    await deployed.allReady();
    const issues = () => deployed.log("ca").slice(linesBefore).includes("certificates issued");
    await until(issues, { withinMs: 60_000, what: "ca" });
    const lines = deployed.log("ca").slice(linesBefore);
    const [heard, issued] = ["trust domain taken from the mesh", "certificates issued"].map((text) =>
      lines.indexOf(text),
    );
    assert.ok(heard !== undefined && issued !== undefined && heard > 0 && heard < issued, lines);
  });

  const reloads = (): number => deployed.log("nats").match(/Reloaded: tls/g)?.length ?? 0;
  const serialIn = (server: "nats" | "redis"): string =>
    parseCertificatePem(readFileSync(join(deployed.certificates(server), "tls.crt"), "utf8")).serial;

  /** Serial of the certificate that Redis shows. */
  async function servedByRedis(): Promise<string> {
    const file = (name: string) => readFileSync(join(deployed.certificates("xds-server"), name));
    const options = { key: file("tls.key"), cert: file("tls.crt"), ca: file("ca.crt") };
    const address = { port: deployed.ports.redis, host: "127.0.0.1", servername: "flotilla-redis.istio-system.svc" };
    const socket = connectTls({ ...options, ...address });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerCertificate().serialNumber;
    } finally {
      socket.destroy();
    }
  }
});
