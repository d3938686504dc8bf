/** A real NATS server that comes back with an older copy of its disk, or without values: what was acknowledged is written again. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { attestEvery, type Bus, connectBus, createPublisher, filters } from "@flotilla/bus";
import { type Change, configKeyText, StoreError } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, type RunningServer, startNats } from "@flotilla/servers";
import { aSidecar } from "../config-store.conformance.ts";
import { compareStored } from "./compare-stored.ts";
import { type DurableStore, openDurableStore } from "./durable-store.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-lost-writes-"));
const [directory, older] = [join(root, "server"), join(root, "older")];
const stop = new AbortController();
let server: RunningServer;
const hour = 3_600_000;

interface Replica extends AsyncDisposable {
  readonly bus: Bus;
  readonly durable: DurableStore;
  readonly conditions: ReadonlyMap<string, string>;
}

/** As config-controller runs it. */
async function replica(): Promise<Replica> {
  const bus = await connectBus({ url: server.url, clientName: "t", log: noopLogger }, stop.signal);
  const bounds = { maxBytes: bus.maxMessageBytes, maxObjects: 10_000, maxWaiting: 100, seal: undefined };
  const clock = { nowMs: Date.now, random: Math.random };
  const values = await bus.keyValue("config");
  const durable = await openDurableStore({ name: "api", values, log: noopLogger, ...bounds, ...clock });
  const ended = new AbortController();
  const conditions = new Map<string, string>();
  const setCondition = (name: string, detail: string | undefined) => void (detail && conditions.set(name, detail));
  const options = {
    ...{ stored: durable, bus, everyMs: hour, health: { setCondition }, log: noopLogger, nowMs: Date.now },
    ...{ condition: "lost writes", lossText: (names: string) => names },
  };
  const running = Promise.all([durable.follow(ended.signal), compareStored(options, ended.signal)]);
  const close = async () => {
    ended.abort();
    await running;
    await bus[Symbol.asyncDispose]();
  };
  return { bus, durable, conditions, [Symbol.asyncDispose]: close };
}

const names = (durable: DurableStore) =>
  durable
    .all()
    .map(({ key }) => key.name)
    .sort();
const create = (durable: DurableStore, ...all: readonly string[]) =>
  acknowledged(() => durable.transact((draft) => void all.map((name) => draft.create(aSidecar("shop", name)))));
const remove = (durable: DurableStore, name: string) =>
  acknowledged(() => durable.transact((draft) => void draft.delete(aSidecar("shop", name).key)));

/** On a busy machine a server that just started may not answer in time, and whether it stored is not known then. */
async function acknowledged(write: () => Promise<void>): Promise<void> {
  for (let isDoubtful = false; ; isDoubtful = true) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      const isDone = isDoubtful && ["STORE_ALREADY_EXISTS", "STORE_NOT_FOUND"].includes(error.code);
      if (isDone) return;
      if (error.code !== "STORE_AWAY") throw error;
    }
  }
}
const soon = (what: string) => ({ withinMs: 60_000, what });

/** As a replica that starts now finds it; nothing while the server does not answer. */
async function stored(): Promise<readonly string[]> {
  try {
    await using fresh = await replica();
    return names(fresh.durable);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return [];
  }
}

/** The server's disk as it is now. */
async function copyDisk(): Promise<void> {
  await server[Symbol.asyncDispose]();
  rmSync(older, { recursive: true, force: true });
  cpSync(directory, older, { recursive: true });
  server = await startNats({ directory, env: process.env, port: server.port });
}

async function comeBackWithCopy(port = server.port): Promise<void> {
  await server.kill();
  rmSync(directory, { recursive: true, force: true });
  cpSync(older, directory, { recursive: true });
  server = await startNats({ directory, env: process.env, port });
}

describe("a bus that loses acknowledged writes", () => {
  before(async () => {
    server = await startNats({ directory, env: process.env });
  });
  beforeEach(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
    server = await startNats({ directory, env: process.env, port: server.port });
  });
  after(async () => {
    stop.abort();
    await server[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  it("gets them again when it is back, deletes too, and the loss is named", async () => {
    await using one = await replica();
    await using two = await replica();
    await create(one.durable, "kept", "deleted");
    await copyDisk();
    await until(() => one.bus.state.connected && two.bus.state.connected, soon("the connections"));
    await create(two.durable, "a", "b");
    await remove(one.durable, "deleted");
    await create(one.durable, "c");
    await until(() => names(two.durable).length === 4, soon("both replicas to know all"));
    await comeBackWithCopy();
    const all = "a b c kept";
    await until(async () => (await stored()).join(" ") === all, soon("all to be stored again"));
    const reported = [...one.conditions, ...two.conditions].map(([name, detail]) => `${name} ${detail}`).join("\n");
    for (const name of ["a", "b", "c", "deleted"])
      assert.match(reported, new RegExp(`lost writes .*${configKeyText(aSidecar("shop", name).key)}`));
    await create(two.durable, "later");
    await create(one.durable, "last");
    assert.deepEqual(await stored(), ["a", "b", "c", "kept", "last", "later"]);
  });

  it("gets them again although another replica that knew less has written since", async () => {
    await using one = await replica();
    await create(one.durable, "kept");
    await copyDisk();
    await until(() => one.bus.state.connected, soon("the connection"));
    await create(one.durable, "ours");
    await comeBackWithCopy();
    await using late = await replica();
    await create(late.durable, "theirs");
    await until(async () => (await stored()).length === 3, soon("all to be stored"));
    await until(() => names(one.durable).length === 3 && names(late.durable).length === 3, soon("both to know all"));
    assert.deepEqual(await stored(), ["kept", "ours", "theirs"]);
  });

  for (const [count, ids] of [
    [2, "a head that follows another transaction"],
    [3, "a head that is further on"],
  ] as const)
    it(`gets them again although another replica has written more since: ${ids}`, async () => {
      await using one = await replica();
      await create(one.durable, "kept");
      await copyDisk();
      await until(() => one.bus.state.connected, soon("the connection"));
      await create(one.durable, "ours");
      const { port } = server;
      await comeBackWithCopy(await freePort());
      const theirs = Array.from({ length: count }, (_, at) => `theirs-${at}`);
      {
        await using late = await replica();
        for (const name of theirs) await create(late.durable, name);
      }
      await server[Symbol.asyncDispose]();
      server = await startNats({ directory, env: process.env, port });
      const all = ["kept", "ours", ...theirs].join(" ");
      await until(() => names(one.durable).join(" ") === all, soon("the replica to know all"));
      await until(async () => (await stored()).join(" ") === all, soon("all to be stored"));
      const lost = new RegExp(configKeyText(aSidecar("shop", "ours").key));
      await until(() => lost.test(one.conditions.get("lost writes") ?? ""), soon("the loss to be named"));
      assert.doesNotMatch(one.conditions.get("lost writes") ?? "", /theirs|kept/);
    });

  it("gets values again that somebody took away or overwrote, at the next comparison", async () => {
    await using one = await replica();
    await create(one.durable, "a", "b", "c");
    const values = await one.bus.keyValue("config");
    await values.delete("object/Sidecar/shop/a");
    await values.put("object/Sidecar/shop/b", Buffer.from("{"));
    await values.put("head", Buffer.from("poison"));
    assert.deepEqual([...(await one.durable.compare())].sort(), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    assert.deepEqual(await stored(), ["a", "b", "c"]);
    assert.deepEqual(await one.durable.compare(), []);
    await create(one.durable, "d");
    assert.deepEqual(await stored(), ["a", "b", "c", "d"]);
  });

  it("starts with a head that cannot be read, by the objects that were written out", async () => {
    {
      await using one = await replica();
      await create(one.durable, "a", "b");
      await (await one.bus.keyValue("config")).put("head", Buffer.from("poison"));
    }
    await using next = await replica();
    assert.deepEqual(names(next.durable), ["a", "b"]);
    assert.deepEqual(
      next.bus.setAside.list().map(({ place }) => place),
      ["config/head"],
    );
    await create(next.durable, "c");
    assert.deepEqual(await stored(), ["a", "b", "c"]);
  });

  it("gets what was published again at once", async () => {
    await using bus = await connectBus({ url: server.url, clientName: "t", log: noopLogger }, stop.signal);
    const put = (name: string): Change => {
      const value = aSidecar("shop", name);
      return { type: "config", op: "put", key: value.key, value };
    };
    const publisher = createPublisher({ bus, publisher: "c", seal: undefined, log: noopLogger, nowMs: Date.now });
    await publisher.synchronize([put("kept")]);
    const ended = new AbortController();
    let repaired = 0;
    const onRepaired = (count: number) => {
      repaired += count;
    };
    const attesting = attestEvery(
      { bus, publisher, everyMs: hour, log: noopLogger, nowMs: Date.now, onRepaired },
      ended.signal,
    );
    await copyDisk();
    await until(() => bus.state.connected, soon("the connection"));
    await publisher.publish([put("lost")]);
    await comeBackWithCopy();
    await until(() => repaired > 0, soon("the repair"));
    assert.deepEqual(
      (await bus.lastValues(filters.config)).map(({ subject }) => subject.split(".").at(-1)),
      ["kept", "lost"],
    );
    ended.abort();
    await attesting;
  });
});
