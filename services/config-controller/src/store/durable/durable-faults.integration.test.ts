/** Writers on two replicas while the NATS server is killed again and again: what was acknowledged is there, once, in order. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { StoreError } from "@flotilla/model";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { startNats } from "@flotilla/servers";
import { aSidecar } from "../config-store.conformance.ts";
import { type DurableStore, openDurableStore } from "./durable-store.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-store-faults-"));
const stop = new AbortController();
let server = await startNats({ directory, env: process.env });
after(async () => {
  stop.abort();
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function open(): Promise<{ readonly durable: DurableStore } & AsyncDisposable> {
  const bus = await connectBus({ url: server.url, clientName: "t", log: noopLogger }, stop.signal);
  const bounds = { maxBytes: bus.maxMessageBytes, maxObjects: 10_000, maxWaiting: 100, seal: undefined };
  const clock = { nowMs: Date.now, random: Math.random };
  const values = await bus.keyValue("faults");
  const durable = await openDurableStore({ name: "api", values, log: noopLogger, ...bounds, ...clock });
  return { durable, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

describe("the durable store while NATS is killed", () => {
  it("keeps every pair that was acknowledged, and no half of any", { timeout: 180_000 }, async () => {
    await using one = await open();
    await using two = await open();
    const ended = new AbortController();
    const following = [one, two].map(({ durable }) => durable.follow(ended.signal));
    const acknowledged = new Set<string>();
    let [refusals, isOver] = [0, false];
    const write = async ({ durable }: typeof one, writer: string): Promise<void> => {
      for (let count = 0; !isOver; count++) {
        const name = `${writer}-${count}`;
        try {
          await durable.transact((draft) => {
            for (const half of ["left", "right"]) draft.create(aSidecar("shop", `${name}-${half}`));
          });
          acknowledged.add(name);
          await delay(5);
        } catch (error) {
          assert.ok(error instanceof StoreError && error.code === "STORE_AWAY", String(error));
          refusals += 1;
          await delay(100);
        }
      }
    };
    const writing = [write(one, "one"), write(two, "two")];
    for (let kills = 0; kills < 3; kills++) {
      const before = acknowledged.size;
      await until(() => acknowledged.size >= before + 20, { withinMs: 60_000, what: "writes to go on" });
      await server.kill();
      server = await startNats({ directory, env: process.env, port: server.port });
    }
    const before = acknowledged.size;
    await until(() => acknowledged.size >= before + 10, { withinMs: 60_000, what: "writes after the last kill" });
    isOver = true;
    await Promise.all(writing);

    await using fresh = await open();
    const names = (durable: DurableStore) => new Set(durable.all().map(({ key }) => key.name));
    const stored = names(fresh.durable);
    for (const name of acknowledged) assert.ok(stored.has(`${name}-left`) && stored.has(`${name}-right`), name);
    for (const name of stored)
      assert.ok(stored.has(name.replace(/(left|right)$/, (half) => (half === "left" ? "right" : "left"))), name);
    for (const { durable } of [one, two]) {
      await until(() => durable.version === fresh.durable.version, { withinMs: 60_000, what: "the replicas to agree" });
      assert.deepEqual([...names(durable)].sort(), [...stored].sort());
    }
    console.log(`      ${acknowledged.size} pairs acknowledged, ${refusals} refused while NATS was away`);
    ended.abort();
    await Promise.all(following);
  });
});
