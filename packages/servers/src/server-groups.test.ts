/** Groups of servers, with a small program in place of each: what they are started with, and in which order they end. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startNatsCluster } from "./nats-cluster.ts";
import { startRedisSentinel } from "./redis-sentinel.ts";
import { startConsul } from "./start-consul.ts";
import { type RunningServer, startNats, startRedis } from "./start-server.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-groups-"));
after(() => rmSync(root, { recursive: true, force: true }));

/** Listens on the port of its arguments or its configuration, answers a PING, and appends its end to a file that all share. */
const ends = join(root, "ends");
writeFileSync(ends, "");
writeFileSync(
  join(root, "server.mjs"),
  `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
const args = process.argv.slice(2);
const texts = args.filter((arg) => existsSync(arg) && /\\.(conf|json)$/.test(arg)).map((file) => readFileSync(file, "utf8"));
const port = Number(args[args.indexOf("--port") + 1] ?? NaN) || Number(/^port (\\d+)|"http":(\\d+)/m.exec(texts.join("\\n"))?.slice(1).find(Boolean));
console.log(JSON.stringify({ args }));
createServer((socket) => { socket.on("data", () => socket.write("+PONG\\r\\n")); socket.on("error", () => {}); }).listen(port, "127.0.0.1");
process.on("SIGTERM", () => { appendFileSync(${JSON.stringify(ends)}, (args.includes("--sentinel") ? "sentinel" : "server") + "\\n"); process.exit(0); });`,
);
const program = join(root, "server");
writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${join(root, "server.mjs")} "$@"\n`, { mode: 0o755 });
const env = { ...process.env, REDIS_SERVER_BIN: program, NATS_SERVER_BIN: program, CONSUL_BIN: program };

/** The arguments of its last start. */
function argsOf({ logFile }: RunningServer): readonly string[] {
  const last = readFileSync(logFile, "utf8").trim().split("\n").at(-1) ?? "";
  return (JSON.parse(last) as { readonly args: readonly string[] }).args;
}

function linesOf(directory: string, file: string): readonly string[] {
  const path = join(directory, file);
  assert.equal(statSync(path).mode & 0o777, 0o600, `${file} is for its user alone`);
  return readFileSync(path, "utf8").trimEnd().split("\n");
}

const access = {
  ...{ servers: ["user default on +ping"], sentinels: ["user default on +ping +info"] },
  ...{ replica: { user: "copy", password: "c" }, sentinel: { user: "watch", password: "w" } },
};

describe("a primary with replicas and Sentinels", () => {
  it("has one primary, replicas of it, and Sentinels of which most decide", async () => {
    const directory = join(root, "sentinels");
    await using group = await startRedisSentinel({ directory, env, size: 3, downAfterMs: 700 });
    const [primary, ...replicas] = group.servers;
    assert.ok(primary !== undefined && replicas.length === 2);
    assert.ok(!argsOf(primary).includes("--replicaof"));
    assert.ok(argsOf(primary).every((arg) => !arg.endsWith(".conf")));
    for (const replica of replicas)
      assert.deepEqual(argsOf(replica).slice(-3), ["--replicaof", "127.0.0.1", String(primary.port)]);
    const [first] = group.sentinels;
    assert.deepEqual(linesOf(join(directory, "sentinel-0"), "sentinel.conf"), [
      ...[`port ${first?.port}`, "bind 127.0.0.1", `dir ${join(directory, "sentinel-0")}`],
      `sentinel monitor flotilla 127.0.0.1 ${primary.port} 2`,
      ...["sentinel down-after-milliseconds flotilla 700", "sentinel failover-timeout flotilla 5000"],
    ]);
    const at = group.sentinels.map(({ port }) => `127.0.0.1:${port}`);
    assert.equal(new Set(at).size, 3);
    assert.equal(group.url, `redis+sentinel://${at.join(",")}/flotilla`);
  });

  it("gives servers and Sentinels their users and each other's accounts", async () => {
    const directory = join(root, "users");
    await using group = await startRedisSentinel({ directory, env, size: 1, downAfterMs: 700, access });
    const [server] = group.servers;
    const file = join(directory, "redis-0", "redis.conf");
    assert.equal(server && argsOf(server)[0], file);
    assert.deepEqual(linesOf(join(directory, "redis-0"), "redis.conf"), [
      ...["user default on +ping", "masteruser copy", "masterauth c"],
    ]);
    assert.deepEqual(linesOf(join(directory, "sentinel-0"), "sentinel.conf").slice(-5), [
      "user default on +ping +info",
      ...["sentinel auth-user flotilla watch", "sentinel auth-pass flotilla w"],
      ...["sentinel sentinel-user watch", "sentinel sentinel-pass w"],
    ]);
  });

  it("starts a server again as it was, and ends Sentinels before servers", async () => {
    writeFileSync(ends, "");
    const group = await startRedisSentinel({ directory: join(root, "again"), env, size: 2, downAfterMs: 700 });
    const [, killed] = group.servers;
    const [port, args] = [killed?.port, killed && argsOf(killed)];
    await killed?.kill();
    await group.restart(1);
    const [, again] = group.servers;
    assert.notEqual(again?.pid, killed?.pid);
    assert.equal(again?.port, port);
    assert.deepEqual(again && argsOf(again), args);
    await group[Symbol.asyncDispose]();
    const order = readFileSync(ends, "utf8").trim().split("\n");
    assert.deepEqual(order, ["sentinel", "sentinel", "server", "server"]);
  });
});

describe("a cluster of NATS servers", () => {
  it("consists of servers with routes to all, each with its own name, page and directory", async () => {
    const directory = join(root, "cluster");
    const authorization = "authorization { token: t }";
    await using cluster = await startNatsCluster({ directory, env, size: 3, authorization });
    assert.equal(cluster.url, cluster.servers.map(({ port }) => `nats://127.0.0.1:${port}`).join(","));
    assert.deepEqual(readdirSync(directory).sort(), ["nats-0", "nats-1", "nats-2"]);
    const configured = [0, 1, 2].map((i) => linesOf(join(directory, `nats-${i}`), "nats.conf"));
    assert.deepEqual(
      configured.map(([name]) => name),
      ["server_name: nats-0", "server_name: nats-1", "server_name: nats-2"],
    );
    const listens = configured.map((lines) => /listen: "(127\.0\.0\.1:\d+)"/.exec(lines.join("\n"))?.[1]);
    assert.equal(new Set(listens).size, 3);
    const routes = listens.map((at) => `"nats://${at}"`).join(", ");
    for (const [i, lines] of configured.entries()) {
      assert.ok(lines.some((line) => line.includes(`routes: [${routes}]`)));
      assert.ok(lines.includes(`http: "${cluster.pages[i]?.slice("http://".length)}"`));
      assert.equal(lines.at(-1), authorization);
    }
  });

  it("starts a server again on its port, and none that it does not have", async () => {
    await using cluster = await startNatsCluster({ directory: join(root, "restarted"), env, size: 2 });
    const [first] = cluster.servers;
    await first?.kill();
    await cluster.restart(0);
    assert.notEqual(cluster.servers[0]?.pid, first?.pid);
    assert.equal(cluster.servers[0]?.port, first?.port);
    await cluster.restart(7);
    assert.equal(cluster.servers.length, 2);
  });

  it("ends with its owner", async () => {
    const cluster = await startNatsCluster({ directory: join(root, "ended"), env, size: 2 });
    await cluster[Symbol.asyncDispose]();
    assert.deepEqual(await Promise.all(cluster.servers.map(({ exited }) => exited)), ["code 0", "code 0"]);
  });
});

describe("a Consul server", () => {
  const configuredBy = async (name: string, more: object): Promise<Record<string, unknown>> => {
    const directory = join(root, name);
    await using server = await startConsul({ directory, env, ...more });
    const file = join(directory, "consul.json");
    assert.deepEqual(argsOf(server), ["agent", "-config-file", file]);
    assert.equal(server.url, `http://127.0.0.1:${server.port}`);
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  };
  it("is alone in its datacenter by default", async () => {
    const { datacenter, node_name: node, server, retry_join_wan: join, ports } = await configuredBy("consul", {});
    assert.deepEqual([datacenter, node, server, join], ["dc1", "server-dc1", true, []]);
    const { serf_wan: wan, serf_lan: lan, server: own } = ports as Record<string, number>;
    assert.equal(wan, -1);
    assert.notEqual(lan, own);
  });
  it("joins servers of other datacenters, and takes more configuration", async () => {
    const acl = { enabled: true };
    const more = { datacenter: "dc2", wanPort: 9_400, joinWan: [9_300], configuration: { acl } };
    const { datacenter, retry_join_wan: join, ports, acl: given } = await configuredBy("consul-wan", more);
    assert.deepEqual([datacenter, join, given], ["dc2", ["127.0.0.1:9300"], acl]);
    assert.equal((ports as Record<string, number>)["serf_wan"], 9_400);
  });
});

describe("a server of its own", () => {
  it("NATS has a user for its health where its health is asked for, who is none of the given ones", async () => {
    const directory = join(root, "nats");
    const asked: unknown[] = [];
    const health = async (port: number, user: object) => {
      asked.push(port, Object.keys(user));
      return "no leader";
    };
    const authorization = "accounts { A { users: [] } }";
    await using server = await startNats({ directory, env, authorization, health });
    const lines = linesOf(directory, "nats.conf");
    assert.match(lines[2] ?? "", /^accounts \{ SYS \{ users: \[\{ user: health, password: "[0-9a-f]{32}" \}\] \} \}$/);
    assert.deepEqual([lines[3], lines.at(-1)], ["system_account: SYS", authorization]);
    assert.equal(await server.failure(), "no leader");
    assert.deepEqual(asked, [server.port, ["name", "password"]]);
  });
  it("NATS has no such user otherwise, and no failure", async () => {
    const directory = join(root, "nats-plain");
    await using server = await startNats({ directory, env });
    assert.ok(linesOf(directory, "nats.conf").every((line) => !line.includes("SYS")));
    assert.equal(await server.failure(), undefined);
  });
  it("Redis has its users and one that may ask whether it is ready", async () => {
    const directory = join(root, "redis");
    await using server = await startRedis({ directory, env, users: ["user a on >b ~* +@all"] });
    const [reset, probe, ...users] = linesOf(directory, "redis.conf");
    assert.equal(reset, "user default reset off");
    assert.match(probe ?? "", /^user probe reset on >[0-9a-f]{32} \+ping$/);
    assert.deepEqual(users, ["user a on >b ~* +@all"]);
    assert.equal(argsOf(server)[0], join(directory, "redis.conf"));
  });
  it("Redis without users has no configuration, and keeps a file of what is appended", async () => {
    const directory = join(root, "redis-plain");
    await using server = await startRedis({ directory, env });
    const args = argsOf(server);
    assert.ok(args.every((arg) => !arg.endsWith(".conf")));
    assert.deepEqual(args.slice(-4), ["--appendonly", "yes", "--save", ""]);
  });
});
