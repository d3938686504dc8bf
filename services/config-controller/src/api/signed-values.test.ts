import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { type Bus, connectBus, createSeal, type Seal } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { aSidecar } from "../store/config-store.conformance.ts";
import { type DurableStore, openDurableStore } from "../store/durable/durable-store.ts";
import { SignedValues } from "./signed-values.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-signed-"));
after(() => rmSync(workDir, { recursive: true, force: true }));
const stop = new AbortController().signal;
const seal = createSeal("the key in use");

const connect = (key?: Seal): Promise<Bus> =>
  connectBus({ url: "embedded:signed-values", clientName: "t", log: noopLogger, seal: key }, stop);

/** As config-controller opens it. */
async function open(bus: Bus, key: Seal | undefined): Promise<DurableStore> {
  const signed = new SignedValues(workDir);
  const { acceptsAny } = signed;
  const values = await bus.keyValue("config", { acceptsAny });
  const bounds = { maxBytes: 1_000_000, maxObjects: 100, maxWaiting: 10, nowMs: Date.now, random: Math.random };
  const durable = await openDurableStore({ name: "api", values, seal: key, log: noopLogger, ...bounds });
  if (key !== undefined) await signed.migrate(durable);
  return durable;
}

const names = (durable: DurableStore) => durable.all().map(({ key }) => key.name);
const create = (durable: DurableStore, name: string) =>
  durable.transact((draft) => void draft.create(aSidecar("shop", name)));

it("objects of a version that did not authenticate are taken once and written again; later ones without a code are refused", async () => {
  await using plain = await connect();
  await create(await open(plain, undefined), "old");
  await using bus = await connect(seal);
  const durable = await open(bus, seal);
  assert.deepEqual(names(durable), ["old"]);
  await create(durable, "new");

  await using stranger = await connect(createSeal("another key"));
  for (const other of [plain, stranger]) {
    const values = await other.keyValue("config");
    const found = await (await plain.keyValue("config")).get("object/Sidecar/shop/old");
    await values.put("object/Sidecar/shop/forged", found?.value ?? new Uint8Array());
    const next = await open(bus, seal);
    assert.deepEqual(names(next).sort(), ["new", "old"]);
    assert.ok(bus.setAside.list().some(({ place }) => place === "config/object/Sidecar/shop/forged"));
  }
});

it("a value that was written again once is not written again at the next start", async () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-signed-once-"));
  try {
    let count = 0;
    const durable = { writeAgain: async () => void count++ };
    const first = new SignedValues(directory);
    const accepted = [first.acceptsAny()];
    await first.migrate(durable);
    await first.migrate(durable);
    const next = new SignedValues(directory);
    accepted.push(first.acceptsAny(), next.acceptsAny());
    await next.migrate(durable);
    assert.deepEqual([accepted, count], [[true, false, false], 1]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
