/** The store on a real Redis (or Valkey), with damage done to it and with the server gone. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { type RunningServer, startRedis } from "@flotilla/servers";
import { Redis } from "ioredis";
import { openStore, type SnapshotStore, StateError } from "./index.ts";
import { storeConformance } from "./store.conformance.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-state-"));
let server: RunningServer;

async function open(): Promise<SnapshotStore> {
  const store = openStore({ url: server.url, log: noopLogger });
  await until(() => store.state.connected);
  return store;
}

before(async () => {
  server = await startRedis({ directory, env: process.env });
});
after(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

describe("store in Redis", () => {
  storeConformance(open);

  it("refuses a damaged snapshot and one of another form by name", async () => {
    await using store = await open();
    await store.claim();
    await store.write({ position: 20, entries: new Map([["k", new TextEncoder().encode("v")]]) });
    const redis = new Redis(server.url);
    await redis.hset("flotilla:v1:snapshot:entries", "k", Buffer.concat([Buffer.of(0), Buffer.from("w")]));
    await assert.rejects(store.load(), (error) => error instanceof StateError && error.code === "STATE_DAMAGED");
    await redis.hset("flotilla:v1:snapshot:about", "format", "0");
    await assert.rejects(
      store.load(),
      (error) => error instanceof StateError && error.code === "STATE_FORMAT" && /form 0/.test(error.message),
    );
    // A new writer replaces whatever differs, which is everything it cannot read.
    const claimed = await store.claim();
    const gone = [...(claimed?.stored.keys() ?? [])].map((key) => [key, undefined] as const);
    await store.write({ position: 21, entries: new Map([...gone, ["k", new TextEncoder().encode("v")]]) });
    assert.equal((await store.load())?.position, 21);
    redis.disconnect();
  });

  it("says that Redis is gone, and goes on when it is back", async () => {
    await using store = await open();
    await server.kill();
    await until(() => !store.state.connected);
    await assert.rejects(store.load());
    server = await startRedis({ directory, env: process.env, port: server.port });
    await until(() => store.state.connected);
    assert.equal((await store.load())?.position, 21);
  });
});

async function until(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 8_000;
  while (!check()) {
    assert.ok(performance.now() < deadline, "waited too long");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
