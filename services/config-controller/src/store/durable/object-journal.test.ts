/** Objects that a replica wrote over the API are in its work directory, too: a bus that has lost them gets them again at the next start. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { type Bus, connectBus, createSeal } from "@flotilla/bus";
import { createLogger, noopLogger } from "@flotilla/runtime";
import { aSidecar } from "../config-store.conformance.ts";
import { type DurableStore, openDurableStore } from "./durable-store.ts";
import { ObjectJournal } from "./object-journal.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-journal-"));
after(() => rmSync(directory, { recursive: true, force: true }));
let buses = 0;

interface Place {
  readonly bus: Bus;
  readonly file: string;
}

const place = async (): Promise<Place> => {
  const name = `journal-${buses++}`;
  const stop = new AbortController().signal;
  return {
    bus: await connectBus({ url: `embedded:${name}`, clientName: "t", log: noopLogger }, stop),
    file: join(directory, name, "objects.journal"),
  };
};

/** A replica that starts. */
async function started({ bus, file }: Place, log = noopLogger): Promise<DurableStore> {
  const seal = createSeal("a key");
  const bounds = { maxBytes: bus.maxMessageBytes, maxObjects: 10_000, maxWaiting: 10, seal };
  const values = await bus.keyValue("config");
  const journal = new ObjectJournal({ file, seal, log });
  return openDurableStore({ name: "api", values, log, ...bounds, nowMs: Date.now, random: Math.random, journal });
}

const create = (durable: DurableStore, name: string) =>
  durable.transact((draft) => draft.create(aSidecar("shop", name)));
const remove = (durable: DurableStore, name: string) =>
  durable.transact((draft) => void draft.delete(aSidecar("shop", name).key));
const namesIn = (durable: DurableStore) =>
  durable
    .all()
    .map(({ key }) => key.name)
    .sort();

async function wipe(bus: Bus): Promise<void> {
  const values = await bus.keyValue("config");
  for (const { key } of await values.entries()) await values.delete(key);
}

/** As a replica without a copy finds it. */
const storedIn = async ({ bus }: Place) =>
  namesIn(await started({ bus, file: join(directory, "none", String(buses++)) }));

describe("the journal of what was written over the API", () => {
  it("writes again what the bus has lost while no replica ran, and names it at the next comparison", async () => {
    const at = await place();
    const first = await started(at);
    for (const name of ["a", "b", "c"]) await create(first, name);
    await remove(first, "b");
    await wipe(at.bus);
    const second = await started(at);
    assert.deepEqual(namesIn(second), ["a", "c"]);
    assert.deepEqual(await storedIn(at), ["a", "c"]);
    assert.deepEqual([...(await second.compare())].sort(), ["Sidecar/shop/a", "Sidecar/shop/c"]);
    assert.deepEqual(await second.compare(), []);
  });

  it("an older bus gets what is newer here, deletes too", async () => {
    const at = await place();
    const values = await at.bus.keyValue("config");
    const first = await started(at);
    await create(first, "deleted");
    const older = await values.entries();
    await create(first, "new");
    await remove(first, "deleted");
    await wipe(at.bus);
    for (const { key, value = Buffer.alloc(0) } of older) await values.put(key, value);
    const second = await started(at);
    assert.deepEqual(namesIn(second), ["new"]);
    assert.deepEqual(await storedIn(at), ["new"]);
    assert.deepEqual([...(await second.compare())].sort(), ["Sidecar/shop/deleted", "Sidecar/shop/new"]);
  });

  it("a bus that has more is followed, and nothing is reported", async () => {
    const at = await place();
    const first = await started(at);
    await create(first, "a");
    const other = await started({ ...at, file: `${at.file}-other` });
    await create(other, "b");
    await remove(other, "a");
    const again = await started(at);
    assert.deepEqual(namesIn(again), ["b"]);
    assert.deepEqual(await again.compare(), []);
    await wipe(at.bus);
    assert.deepEqual(namesIn(await started(at)), ["b"]);
  });

  it("a bus that has more, but lacks writes of this replica, gets them again as its next version", async () => {
    const at = await place();
    const first = await started(at);
    for (const name of ["a", "b"]) await create(first, name);
    await wipe(at.bus);
    const other = await started({ ...at, file: `${at.file}-other` });
    for (const name of ["c", "d", "e"]) await create(other, name);
    const again = await started(at);
    assert.deepEqual(namesIn(again), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(await storedIn(at), ["a", "b", "c", "d", "e"]);
    assert.deepEqual([...(await again.compare())].sort(), ["Sidecar/shop/a", "Sidecar/shop/b"]);
    assert.equal(again.version, 4);
  });

  it("that is not there is no error, and one that cannot be read is logged", async () => {
    const lines: string[] = [];
    const log = createLogger("t", "info", { write: (line) => void lines.push(line) });
    const read = (file: string) => new ObjectJournal({ file, seal: undefined, log }).read();
    assert.deepEqual([await read(join(directory, "no such file")), lines], [[], []]);
    assert.deepEqual(await read(directory), []);
    assert.match(lines.join(""), /copy of objects written over the api unreadable/);
  });

  it("a line that was cut off is as if it had not been written; a file that is damaged does not stop a start", async () => {
    const at = await place();
    const first = await started(at);
    for (const name of ["a", "b"]) await create(first, name);
    const { length } = readFileSync(at.file);
    truncateSync(at.file, length - 5);
    await wipe(at.bus);
    assert.deepEqual(namesIn(await started(at)), ["a"]);
    writeFileSync(at.file, "nonsense\n");
    assert.deepEqual(namesIn(await started(at)), ["a"]);
  });

  it("is written anew before it gets long, and holds no Secret in clear", async () => {
    const at = await place();
    const durable = await started(at);
    for (let round = 0; round < 150; round++) {
      await create(durable, "again");
      await remove(durable, "again");
    }
    await create(durable, "last");
    assert.ok(readFileSync(at.file, "utf8").split("\n").length < 220);
    const key = { kind: "Secret", namespace: "shop", name: "keys" } as const;
    await durable.transact((draft) =>
      draft.create({ ...aSidecar("shop", "keys"), key, spec: { data: { a: "c2VjcmV0" } } }),
    );
    await wipe(at.bus);
    assert.deepEqual(namesIn(await started(at)), ["keys", "last"]);
    const resting = JSON.stringify(await new ObjectJournal({ file: at.file, seal: undefined, log: noopLogger }).read());
    assert.match(resting, /sealed/);
    assert.doesNotMatch(resting, /c2VjcmV0/);
  });

  it("a disk that takes nothing refuses no write, and is logged", async () => {
    const at = await place();
    const lines: string[] = [];
    writeFileSync(join(directory, "a file"), "");
    const log = createLogger("t", "info", { write: (line) => void lines.push(line) });
    const durable = await started({ ...at, file: join(directory, "a file", "objects.journal") }, log);
    await create(durable, "a");
    assert.deepEqual(await storedIn(at), ["a"]);
    assert.match(lines.join("\n"), /not saved to disk/);
  });
});
