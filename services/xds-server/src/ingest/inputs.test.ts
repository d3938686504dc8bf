/** The inputs by key, what a stream that began anew takes away, and the snapshot that is written of them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSeal, encodeChange, keyText } from "@flotilla/bus";
import type { Change } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import type { Claim, SnapshotChange, SnapshotStore } from "@flotilla/state";
import { aConfig, aService, put } from "../testing/mesh.ts";
import { Inputs, SnapshotWriter, snapshotChanges } from "./inputs.ts";

const route = (name: string, host = name): Change =>
  put(aConfig("VirtualService", "shop", name, { hosts: [host] }))[0] as Change;
const secret = put(aConfig("Secret", "shop", "pair", { data: {} }))[0] as Change;
const removed = (change: Change): Change => ({ type: change.type, op: "delete", key: change.key }) as Change;
const names = (changes: Iterable<Change>) => [...changes].map((change) => `${change.op} ${keyText(change)}`);
const [a, b] = [route("a"), route("b")];

describe("inputs", () => {
  it("hold the last value of each key, and nothing of deleted ones", () => {
    const inputs = new Inputs();
    inputs.record([a, b, route("a", "other"), removed(b)]);
    assert.equal(inputs.size, 1);
    assert.deepEqual([...inputs.entries()], [[keyText(a), route("a", "other")]]);
  });

  const vanished: readonly (readonly [string, readonly Change[], readonly string[]])[] = [
    ["what was not published again is deleted", [a], [`delete ${keyText(b)}`]],
    ["what was published again stays", [a, b], []],
    ["what was deleted meanwhile is gone already", [a, removed(b)], []],
    ["what is new stays", [a, b, route("c")], []],
    ["with nothing published again everything goes", [], [`delete ${keyText(a)}`, `delete ${keyText(b)}`]],
  ];
  for (const [name, published, want] of vanished)
    it(`after the stream began anew ${name}`, () => {
      const inputs = new Inputs();
      inputs.record([a, b]);
      inputs.beginAgain();
      inputs.record(published);
      assert.deepEqual(names(inputs.endAgain()), want);
      assert.deepEqual(inputs.endAgain(), [], "the comparison ends once");
    });

  it("nothing vanishes while the stream goes on", () => {
    const inputs = new Inputs();
    inputs.record([a]);
    assert.deepEqual(inputs.endAgain(), []);
  });
});

describe("the changes of a snapshot", () => {
  const seal = createSeal("key");
  const read = (entries: readonly (readonly [string, Uint8Array])[], withSeal = seal) =>
    snapshotChanges({ position: 1, entries: new Map(entries), setAside: [] }, withSeal);

  it("are read, Secrets by the key that sealed them", () => {
    const { changes, unreadable } = read([
      [keyText(a), encodeChange(a)],
      [keyText(secret), seal.seal(encodeChange(secret))],
    ]);
    assert.deepEqual([names(changes), unreadable.size], [[`put ${keyText(a)}`, `put ${keyText(secret)}`], 0]);
  });

  const bad: readonly (readonly [string, string, Uint8Array])[] = [
    ["bytes that are no change", keyText(a), Buffer.from("{")],
    ["a change of another key", keyText(a), encodeChange(b)],
    ["a Secret that is not sealed", keyText(secret), encodeChange(secret)],
    ["a Secret sealed by another key", keyText(secret), createSeal("other").seal(encodeChange(secret))],
  ];
  for (const [name, key, bytes] of bad)
    it(`${name} is set aside by name, the rest is read`, () => {
      const { changes, unreadable } = read([
        [key, bytes],
        [keyText(route("c")), encodeChange(route("c"))],
      ]);
      assert.deepEqual([names(changes), [...unreadable.keys()]], [[`put ${keyText(route("c"))}`], [key]]);
    });
});

/** A store with a claim that notes what is written; `refuses` answers writes with false. */
function storeOf(stored: Readonly<Record<string, string>>) {
  const written: SnapshotChange[] = [];
  const store = {
    state: { connected: true } as const,
    claims: 0,
    isFree: true,
    refuses: 0,
    claim: async (): Promise<Claim | undefined> => {
      store.claims++;
      const tagOf = (_key: string, bytes: Uint8Array) => Buffer.from(bytes).toString();
      return store.isFree ? { stored: new Map(Object.entries(stored)), tagOf } : undefined;
    },
    write: async (change: SnapshotChange) => {
      if (store.refuses-- > 0) return false;
      written.push(change);
      return true;
    },
  };
  return { store, written };
}

/** The written entries, as `put KEY` and `delete KEY`. */
const linesOf = ({ entries }: SnapshotChange) =>
  [...entries].map(([key, bytes]) => `${bytes === undefined ? "delete" : "put"} ${key}`);

async function write(
  { store, written }: ReturnType<typeof storeOf>,
  act: (writer: SnapshotWriter, inputs: Inputs) => Promise<void> | void,
  isWhole: () => boolean = () => true,
) {
  const inputs = new Inputs();
  const seal = createSeal("key");
  const options = { inputs, isWhole, mark: () => undefined, seal, log: noopLogger, gatherMs: 0, claimMs: 1 };
  const writer = new SnapshotWriter({ ...options, store: store as unknown as SnapshotStore });
  const stop = new AbortController();
  const running = writer.run(stop.signal);
  await act(writer, inputs);
  stop.abort();
  await running;
  return written;
}

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 1 });
const note = (writer: SnapshotWriter, inputs: Inputs, position: number, ...changes: readonly Change[]) => {
  inputs.record(changes);
  const entries = changes.map((change) => [keyText(change), change.op === "put" ? change : undefined] as const);
  writer.note(entries, position, "e");
};

describe("the writer of the snapshot", () => {
  it("writes the differences to what is stored when it takes over, then what changes", async () => {
    const at = storeOf({ [keyText(a)]: Buffer.from(encodeChange(a)).toString(), "config Gateway/shop/gone": "x" });
    const written = await write(at, async (writer, inputs) => {
      note(writer, inputs, 4, a, b);
      await until(() => at.written.length > 0, soon("the first write"));
      note(writer, inputs, 5, removed(b));
      await until(() => at.written.some(({ position }) => position === 5), soon("the change"));
    });
    const [first] = written;
    assert.deepEqual(linesOf(first as SnapshotChange).sort(), ["delete config Gateway/shop/gone", `put ${keyText(b)}`]);
    assert.deepEqual([first?.position, first?.epoch], [4, "e"]);
    const change = written.find(({ position }) => position === 5);
    assert.deepEqual(linesOf(change as SnapshotChange), [`delete ${keyText(b)}`]);
  });

  it("seals Secrets, and writes them again when it takes over: equal contents differ once sealed", async () => {
    const at = storeOf({ [keyText(secret)]: "sealed" });
    const [first] = await write(at, async (writer, inputs) => {
      note(writer, inputs, 1, secret);
      await until(() => at.written.length > 0, soon("the write"));
    });
    const bytes = first?.entries.get(keyText(secret));
    assert.ok(bytes !== undefined);
    assert.deepEqual(Buffer.from(createSeal("key").open(bytes)), Buffer.from(encodeChange(secret)));
  });

  it("waits while another replica writes, and while the inputs are not those of one position", async () => {
    const at = storeOf({});
    at.store.isFree = false;
    let [isWhole, looks] = [false, 0];
    const written = await write(
      at,
      async (writer, inputs) => {
        note(writer, inputs, 1, a);
        await until(() => looks > 2, soon("looks at the inputs"));
        assert.equal(at.store.claims, 0);
        isWhole = true;
        await until(() => at.store.claims > 2, soon("claims"));
        assert.equal(at.written.length, 0);
        at.store.isFree = true;
        await until(() => at.written.length > 0, soon("the write"));
      },
      () => {
        looks++;
        return isWhole;
      },
    );
    assert.deepEqual(linesOf(written[0] as SnapshotChange), [`put ${keyText(a)}`]);
  });

  it("claims again after another writer took over, and writes everything that differs then", async () => {
    const at = storeOf({});
    at.store.refuses = 1;
    const written = await write(at, async (writer, inputs) => {
      note(writer, inputs, 1, a);
      await until(() => at.written.length > 0, soon("the write"));
    });
    assert.ok(at.store.claims >= 2);
    assert.deepEqual(linesOf(written[0] as SnapshotChange), [`put ${keyText(a)}`]);
  });

  it("keeps nothing of what came and went while another replica wrote", async () => {
    const at = storeOf({});
    at.store.isFree = false;
    const written = await write(at, async (writer, inputs) => {
      note(writer, inputs, 1, a);
      for (let i = 0; i < 50; i++) {
        note(writer, inputs, 2 + i, route(`r${i}`));
        note(writer, inputs, 2 + i, removed(route(`r${i}`)));
      }
      await until(() => at.store.claims > 1, soon("claims"));
      at.store.isFree = true;
      await until(() => at.written.length > 0, soon("the write"));
    });
    assert.deepEqual(linesOf(written[0] as SnapshotChange), [`put ${keyText(a)}`]);
  });

  it("compares everything anew when more came and went without Redis than is worth keeping", async () => {
    const at = storeOf({ [keyText(a)]: Buffer.from(encodeChange(a)).toString() });
    let isConnected = true;
    Object.defineProperty(at.store, "state", { get: () => ({ connected: isConnected }) });
    const written = await write(at, async (writer, inputs) => {
      note(writer, inputs, 1, a);
      await until(() => at.written.length > 0, soon("the first write"));
      isConnected = false;
      const gone = Array.from({ length: 10_100 }, (_, i) => removed(route(`r${i}`)));
      note(writer, inputs, 2, b, ...gone);
      isConnected = true;
      await until(() => at.store.claims > 1, soon("the second claim"));
      await until(() => at.written.some(({ entries }) => entries.size > 0), soon("the write"));
    });
    assert.deepEqual(written.flatMap(linesOf), [`put ${keyText(b)}`]);
  });

  it("nothing is written before the first position is known", async () => {
    const at = storeOf({});
    let looks = 0;
    Object.defineProperty(at.store, "state", { get: () => ({ connected: looks++ >= 0 }) });
    await write(at, async (writer, inputs) => {
      note(writer, inputs, 0, ...put(aService("a", "shop")));
      await until(() => looks > 2, soon("looks at the store"));
    });
    assert.equal(at.store.claims, 0);
  });
});
