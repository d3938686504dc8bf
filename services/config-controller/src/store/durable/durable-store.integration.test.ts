/** The durable store on a real NATS server, which is killed and comes back. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { startNats } from "@flotilla/servers";
import { aSidecar, configStoreConformance } from "../config-store.conformance.ts";
import { type DurableStore, openDurableStore } from "./durable-store.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-store-"));
const stop = new AbortController();
let server = await startNats({ directory, env: process.env });
after(async () => {
  stop.abort();
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function open(bucket: string): Promise<{ readonly durable: DurableStore } & AsyncDisposable> {
  const bus = await connectBus({ url: server.url, clientName: "t", log: noopLogger }, stop.signal);
  const bounds = { maxBytes: bus.maxMessageBytes, maxObjects: 1_000, maxWaiting: 100, seal: undefined };
  const clock = { nowMs: Date.now, random: Math.random };
  const values = await bus.keyValue(bucket);
  const durable = await openDurableStore({ name: "api", values, log: noopLogger, ...bounds, ...clock });
  return { durable, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

let buckets = 0;

describe("the durable store on NATS", () => {
  configStoreConformance(async () => {
    const opened = await open(`config-${++buckets}`);
    return { store: opened.durable.store, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  });

  it("keeps what was written when the server is killed", async () => {
    await using one = await open("killed");
    await one.durable.transact((draft) => {
      for (const name of ["a", "b", "c"]) draft.create(aSidecar("shop", name));
    });
    await server.kill();
    server = await startNats({ directory, env: process.env, port: server.port });
    await using two = await open("killed");
    assert.deepEqual(
      two.durable
        .all()
        .map(({ key }) => key.name)
        .sort(),
      ["a", "b", "c"],
    );
    assert.equal(two.durable.version, 1);
  });

  it("replicas hear of each other, and of no version twice", async () => {
    await using one = await open("shared");
    await using two = await open("shared");
    const ended = new AbortController();
    const following = [one, two].map(({ durable }) => durable.follow(ended.signal));
    const heard: number[] = [];
    two.durable.onCommit(({ version }) => heard.push(version));
    const writes = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? one : two).durable.store.create(aSidecar("shop", `n${index}`)),
    );
    await Promise.all(writes);
    while (two.durable.version < 20 || one.durable.version < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(new Set(heard).size, heard.length);
    assert.equal(one.durable.all().length, 20);
    assert.deepEqual(
      two.durable
        .all()
        .map(({ key }) => key.name)
        .sort(),
      one.durable
        .all()
        .map(({ key }) => key.name)
        .sort(),
    );
    ended.abort();
    await Promise.all(following);
  });
});
