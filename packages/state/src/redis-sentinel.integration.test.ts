/**
 * The store on three Redis servers with Sentinels, with the users of the overlay `high-availability`: the primary is killed, and comes back
 * as a replica.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { type RedisSentinel, startRedisSentinel } from "@flotilla/servers";
import { Redis } from "ioredis";
import { type StoreUser, storeRulesOf, storeUsers } from "./access.ts";
import { openStore, type SnapshotStore } from "./index.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-sentinel-"));
/** A Sentinel that was held up for 2 s, as on a busy machine, starts no failover for the next 30 s. */
const failoverMs = 90_000;
const bytes = (value: string) => new TextEncoder().encode(value);
let fleet: RedisSentinel;

const passwordOf = (user: string): string => `password-of-${user}`;
const account = (user: StoreUser) => ({ user, password: passwordOf(user) });
/** `admin` is the test's own. */
const usersOn = (on: "server" | "sentinel"): readonly string[] => [
  "user default reset on nopass +ping",
  `user admin reset on >${passwordOf("admin")} ~* &* +@all`,
  ...storeUsers.flatMap((user) => {
    const rules = storeRulesOf(user, on);
    return rules === undefined ? [] : [`user ${user} reset on >${passwordOf(user)} ${rules}`];
  }),
];

async function open(): Promise<SnapshotStore> {
  const store = openStore({ url: storeUrl(), log: noopLogger, lockMs: 1_000 });
  await until(() => store.state.connected, { withinMs: 60_000, what: "the connection" });
  return store;
}

function storeUrl(): string {
  const sentinel = `sentinelUser=xds-server&sentinelPassword=${passwordOf("xds-server")}`;
  return `${fleet.url.replace("//", `//xds-server:${passwordOf("xds-server")}@`)}?${sentinel}`;
}

async function ask(
  port: number,
  work: (redis: Redis) => Promise<unknown>,
  username: StoreUser | "admin" = "admin",
): Promise<unknown> {
  const client = new Redis(port, "127.0.0.1", { username, password: passwordOf(username) });
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}

async function roleOf(port: number): Promise<string> {
  const text = String(await ask(port, (redis) => redis.info("replication")));
  return /role:(\w+)/.exec(text)?.[1] ?? "";
}

/** Replicas that the first Sentinel has seen, and Sentinels that it has found beside itself. */
async function known(): Promise<string> {
  return String(await ask(fleet.sentinels[0]?.port ?? 0, (redis) => redis.info("sentinel")));
}

before(async () => {
  fleet = await startRedisSentinel({
    ...{ directory, env: process.env, size: 3, downAfterMs: 1_000 },
    access: {
      ...{ servers: usersOn("server"), sentinels: usersOn("sentinel") },
      ...{ replica: account("replica"), sentinel: account("sentinel") },
    },
  });
  await until(async () => /slaves=2,sentinels=3/.test(await known()), { withinMs: 60_000, what: "Sentinels" });
});
after(async () => {
  await fleet[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe("store behind Redis Sentinel", () => {
  const [server, sentinel] = [() => fleet.servers[0]?.port ?? 0, () => fleet.sentinels[0]?.port ?? 0];
  for (const [user, place, port, command] of [
    ["xds-server", "a Sentinel", sentinel, ["SENTINEL", "FAILOVER", "flotilla"]],
    ["xds-server", "a Sentinel", sentinel, ["SENTINEL", "SET", "flotilla", "quorum", "1"]],
    ["xds-server", "a Sentinel", sentinel, ["SENTINEL", "MONITOR", "other", "127.0.0.1", "1", "1"]],
    ["xds-server", "a Sentinel", sentinel, ["SENTINEL", "REMOVE", "flotilla"]],
    ["xds-server", "a Sentinel", sentinel, ["PUBLISH", "__sentinel__:hello", "x"]],
    ["sentinel", "a Sentinel", sentinel, ["SENTINEL", "SET", "flotilla", "quorum", "1"]],
    ["sentinel", "a server", server, ["GET", "flotilla:v1:snapshot:about"]],
    ["replica", "a server", server, ["GET", "flotilla:v1:snapshot:about"]],
    ["replica", "a server", server, ["REPLICAOF", "127.0.0.1", "1"]],
  ] as const)
    it(`${user} may not on ${place}: ${command.join(" ")}`, async () => {
      const [name, ...args] = command;
      await assert.rejects(
        ask(port(), (redis) => redis.call(name, ...args), user),
        /NOPERM/,
      );
    });

  it("goes on with the new primary after the old one was killed", { timeout: 240_000 }, async (t) => {
    await using store = await open();
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    const held = new Map<string, string>();
    let [position, refused] = [0, 0];
    /** As xds-server does: what it holds is written when it is refused, or the store has less than it left there. */
    const write = async (): Promise<void> => {
      position++;
      held.set(`key-${position % 20}`, String(position));
      const entries = new Map([...held].map(([key, value]) => [key, bytes(value)]));
      const isWritten = await store.write({ position, entries }).catch(() => false);
      if (isWritten) return;
      refused++;
      await store.claim().catch(() => undefined);
    };
    const writeUntil = (done: () => boolean, what: string) =>
      until(async () => (await write().then(() => done())) === true, { withinMs: 60_000, what });
    await writeUntil(() => position > 50, "writes");
    const [primary] = fleet.servers;
    const began = performance.now();
    await primary?.kill();
    await writeUntil(() => refused > 0, "a refusal");
    let written = 0;
    await until(
      async () => {
        await write();
        const stored = await store.load().catch(() => undefined);
        written = stored?.position ?? 0;
        return written === position;
      },
      { withinMs: failoverMs, what: "writes to the new primary" },
    );
    t.diagnostic(`the first write to the new primary after ${Math.round(performance.now() - began)} ms`);
    const stored = await store.load();
    assert.deepEqual(
      new Map([...(stored?.entries ?? [])].map(([key, value]) => [key, new TextDecoder().decode(value)])),
      held,
    );

    await fleet.restart(0);
    const old = fleet.servers[0]?.port ?? 0;
    await until(async () => (await roleOf(old)) === "slave", {
      withinMs: failoverMs,
      what: "the old primary to follow",
    });
    await until(() => store.claim(), { withinMs: 60_000, what: "the lock" });
    assert.ok(await store.write({ position: position + 1, entries: new Map([["after", bytes("1")]]) }));
    const isCopied = async () =>
      (await ask(old, (redis) => redis.hexists("flotilla:v1:snapshot:entries", "after"))) === 1;
    await until(isCopied, { withinMs: 60_000, what: "the old primary to have the write" });
  });

  it("follows a failover that an operator asks for, while the old primary answers", { timeout: 240_000 }, async () => {
    await using store = await open();
    const port = await primaryPort();
    const isFailedOver = async () => {
      const asked = ask(fleet.sentinels[1]?.port ?? 0, (redis) => redis.call("SENTINEL", "FAILOVER", "flotilla"));
      return (await asked.catch(() => "")) === "OK";
    };
    await until(isFailedOver, { withinMs: failoverMs, what: "the failover to begin", everyMs: 200 });
    await until(async () => (await primaryPort()) !== port, { withinMs: failoverMs, what: "another primary" });
    let position = 10_000;
    const isWritten = async () => {
      if ((await store.claim().catch(() => undefined)) === undefined) return false;
      return store.write({ position: ++position, entries: new Map([["late", bytes("1")]]) }).catch(() => false);
    };
    await until(isWritten, { withinMs: failoverMs, what: "a write to the new primary" });
    assert.equal((await store.load())?.position, position);
  });
});

async function primaryPort(): Promise<number> {
  const reply = await ask(fleet.sentinels[0]?.port ?? 0, (redis) =>
    redis.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "flotilla"),
  );
  return Number((reply as readonly string[])[1]);
}
