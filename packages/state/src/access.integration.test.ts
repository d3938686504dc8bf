/** Permissions in Redis, command by command and key by key, on a real server with the users of `flotilla up`. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createLogger, noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startRedis } from "@flotilla/servers";
import { Redis } from "ioredis";
import { createStoreCredentials, type StoreCredentials } from "./access.ts";
import { openStore } from "./open-store.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-store-access-"));
const credentialFiles = join(directory, "credentials");
let credentials: StoreCredentials;
let server: RunningServer;
let client: Redis;

before(async () => {
  credentials = createStoreCredentials(credentialFiles);
  server = await startRedis({ directory, env: process.env, users: credentials.users });
  client = new Redis({ port: server.port, username: "xds-server", password: passwordOf("xds-server") });
});
after(async () => {
  client.disconnect();
  await server?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const passwordOf = (service: string) => readFileSync(join(credentialFiles, `${service}.password`), "utf8");

type Row = readonly [name: string, command: readonly [string, ...string[]], isAllowed: boolean];
const rows: readonly Row[] = [
  ["the snapshot's entries", ["HSET", "flotilla:v1:snapshot:entries", "a", "1"], true],
  ["what is said about them", ["HGETALL", "flotilla:v1:snapshot:about"], true],
  ["the writer's lock", ["SET", "flotilla:v1:snapshot:writer", "x"], true],
  ["a replica's report", ["SET", "flotilla:v1:replica:one", "{}", "PX", "1000"], true],
  ["its parts", ["HSET", "flotilla:v1:replica-parts:one", "p", "{}"], true],
  [
    "a script on keys of its own",
    ["EVAL", "return redis.call('GET', KEYS[1])", "1", "flotilla:v1:snapshot:writer"],
    true,
  ],
  ["a key beside the snapshot's", ["SET", "flotilla:v1:snapshot:other", "x"], false],
  ["a key of no service", ["SET", "other", "x"], false],
  ["reading a key of no service", ["GET", "other"], false],
  ["a script on a key of no service", ["EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", "other"], false],
  ["a script on a key that it does not name", ["EVAL", "return redis.call('SET', 'other', 'x')", "0"], false],
  ...(
    [
      ["FLUSHALL"],
      ["FLUSHDB"],
      ["CONFIG", "SET", "dir", "/tmp"],
      ["CONFIG", "GET", "*"],
      ["ACL", "SETUSER", "default", "on", "nopass", "~*", "+@all"],
      ["ACL", "LIST"],
      ["SHUTDOWN", "NOSAVE"],
      ["REPLICAOF", "127.0.0.1", "1"],
      ["MODULE", "LIST"],
      ["SAVE"],
      ["MONITOR"],
      ["SUBSCRIBE", "channel"],
      ["PUBLISH", "channel", "x"],
      ["KEYS", "*"],
      ["CLIENT", "KILL", "TYPE", "normal"],
      ["FUNCTION", "LIST"],
      ["SCRIPT", "FLUSH"],
      ["MIGRATE", "127.0.0.1", "1", "flotilla:v1:snapshot:about", "0", "1"],
    ] as const
  ).map((command): Row => [command.join(" "), command, false]),
];

describe("users of Redis", () => {
  for (const [name, [command, ...args], isAllowed] of rows)
    it(`xds-server ${isAllowed ? "may" : "may not"}: ${name}`, async () => {
      const calling = client.call(command, ...args);
      if (isAllowed) await calling;
      else await assert.rejects(calling, /NOPERM|No permissions|ACL failure/);
    });

  it("other users have no rights", async () => {
    for (const [username, password] of [
      [undefined, undefined],
      ["default", ""],
      ["xds-server", "guessed"],
      ["webhook", passwordOf("xds-server")],
    ] as const) {
      const refused = /NOAUTH|WRONGPASS/;
      const given = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
      await using stranger = disposable(
        new Redis({ port: server.port, lazyConnect: true, retryStrategy: () => null, ...given }),
      );
      stranger.redis.on("error", () => undefined);
      const asking = stranger.redis.connect().then(() => stranger.redis.get("flotilla:v1:snapshot:about"));
      await assert.rejects(asking, (error: Error) => refused.test(error.message) || /closed/.test(error.message));
    }
  });

  it("the store works with the credentials of xds-server, and not without", async () => {
    await using store = openStore({ url: credentials.urlFor("xds-server", server.url), log: noopLogger });
    await until(() => store.state.connected, { withinMs: 60_000, what: "the store" });
    await client.del("flotilla:v1:snapshot:entries", "flotilla:v1:snapshot:writer");
    assert.ok((await store.claim()) !== undefined);
    assert.ok(await store.write({ entries: new Map([["k", new Uint8Array([1])]]), position: 7 }));
    assert.equal((await store.load())?.position, 7);
    await store.putReplica("one", { summary: {}, parts: new Map([["p", {}]]), isWhole: true }, 10_000);
    assert.deepEqual([...(await store.replicas()).keys()], ["one"]);
    const lines: string[] = [];
    const log = createLogger("test", "info", { write: (line) => void lines.push(line) });
    await using stranger = openStore({ url: server.url, log });
    await until(() => /NOAUTH/.test(lines.join("")), { withinMs: 60_000, what: "the refusal" });
    await assert.rejects(stranger.load(), { code: "STATE_AWAY" });
  });

  it("no password is on a command line, and files are their owner's alone", () => {
    const commandLine = readFileSync(`/proc/${server.pid}/cmdline`, "utf8");
    assert.ok(!commandLine.includes(passwordOf("xds-server")));
    assert.equal(statSync(join(credentialFiles, "xds-server.password")).mode & 0o777, 0o600);
    assert.equal(statSync(join(directory, "redis.conf")).mode & 0o777, 0o600);
  });

  it("a password that cannot be read is an error at once", () => {
    const url = "redis://xds-server@127.0.0.1:1?passwordFile=/nowhere";
    assert.throws(() => openStore({ url, log: noopLogger }), {
      code: "STATE_CONNECT",
      message: /\/nowhere cannot be read/,
    });
  });
});

function disposable(redis: Redis) {
  return { redis, [Symbol.asyncDispose]: async () => redis.disconnect() };
}
