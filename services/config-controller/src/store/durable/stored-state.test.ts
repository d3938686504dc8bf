/** The state of the durable store: the next transaction, all that was read, and what a bus or another history has lost of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Config, configKeyText } from "@flotilla/model";
import { aConfig } from "../config-store.conformance.ts";
import { StoredState } from "./stored-state.ts";
import type { Sealed, StoredObject, Transaction } from "./transaction.ts";

const config = (name: string, version: number, spec: object = {}): Config => ({
  ...aConfig("Sidecar", "shop", name, spec),
  resourceVersion: String(version),
});
const sealed = (name: string): Sealed => ({ key: { kind: "Secret", namespace: "shop", name }, sealed: "c2VhbGVk" });
const keyOf = (name: string) => config(name, 0).key;
const transaction = (version: number, more: Partial<Transaction> = {}): Transaction => ({
  ...{ version, id: `t${version}`, timeMs: version * 10, puts: [], deletes: [], closed: [] },
  ...more,
});
const stored = (name: string, version: number, spec?: object): StoredObject => ({
  ...{ version, key: keyOf(name), config: config(name, version, spec) },
});
const deleted = (name: string, version: number): StoredObject => ({ version, key: keyOf(name) });
const named = (objects: readonly { readonly key: Config["key"] }[]) => objects.map(({ key }) => configKeyText(key));

/** With `a` of version 1, `b` of version 2, and a Secret `s` that is sealed with another key. */
function aState(): StoredState {
  const state = new StoredState();
  state.apply(transaction(1, { puts: [config("a", 1)], closed: [sealed("s")] }));
  state.apply(transaction(2, { puts: [config("b", 2)] }));
  return state;
}

describe("the state of the durable store", () => {
  it("is that of the transactions in order", () => {
    const state = aState();
    state.apply(transaction(3, { puts: [config("b", 3)], deletes: [keyOf("a")] }));
    assert.deepEqual([state.version, state.all().puts], [3, [config("b", 3)]]);
    assert.deepEqual(state.all().closed, [sealed("s")]);
    assert.deepEqual(state.all().deletes, []);
  });

  it("has a sealed object until it is put with a key that opens it, or deleted", () => {
    const { key } = sealed("s");
    for (const change of [{ puts: [{ ...config("s", 3), key }] }, { deletes: [key] }]) {
      const state = aState();
      state.apply(transaction(3, change));
      assert.deepEqual([...state.closed.keys()], []);
    }
  });

  it("is replaced by all that was read, over which the last transaction is", () => {
    const state = aState();
    const last = transaction(5, { puts: [config("c", 5)], deletes: [keyOf("d")] });
    const objects = [stored("a", 1), stored("b", 4, { changed: true }), stored("d", 3), deleted("e", 2)];
    const changes = state.replace([...objects, { version: 3, key: sealed("t").key, closed: sealed("t") }], last, 5);
    assert.equal(state.version, 5);
    assert.deepEqual(named(state.all().puts).sort(), ["Sidecar/shop/a", "Sidecar/shop/b", "Sidecar/shop/c"]);
    assert.deepEqual([...state.closed.keys()], ["Secret/shop/t"]);
    assert.deepEqual(changes, {
      ...{ version: 5, id: "t5", timeMs: 50, deletes: [], closed: [] },
      puts: [config("b", 4, { changed: true }), config("c", 5)],
    });
  });

  it("names what is gone after it was replaced, and no change where there is none", () => {
    const state = aState();
    const changes = state.replace([stored("b", 2)], undefined, 7);
    assert.deepEqual(changes, { version: 7, id: "", timeMs: 0, puts: [], deletes: [keyOf("a")], closed: [] });
    assert.equal(state.replace([stored("b", 2)], undefined, 8), undefined);
    assert.equal(state.version, 8);
  });
});

describe("objects that the bus has lost", () => {
  const whole = [stored("a", 1), stored("b", 2), { version: 1, key: sealed("s").key, closed: sealed("s") }];
  const cases: readonly {
    readonly name: string;
    readonly stored: readonly StoredObject[];
    readonly isForeign?: boolean;
    readonly lost: readonly string[];
  }[] = [
    { name: "are none where all are there", stored: whole, lost: [] },
    { name: "are those that are missing", stored: whole.slice(1), lost: ["Sidecar/shop/a"] },
    { name: "are sealed ones that are missing", stored: whole.slice(0, 2), lost: ["Secret/shop/s"] },
    { name: "are those of an older version", stored: [stored("b", 1), ...whole], lost: [] },
    { name: "are those of an older version alone", stored: [...whole, stored("b", 1)], lost: ["Sidecar/shop/b"] },
    { name: "are none that are newer", stored: [...whole, stored("b", 3)], lost: [] },
    { name: "are those that are stored as deleted", stored: [...whole, deleted("a", 5)], lost: ["Sidecar/shop/a"] },
    { name: "are deletions of what is there", stored: [...whole, stored("c", 1)], lost: ["Sidecar/shop/c"] },
    { name: "are no deletions of what is deleted", stored: [...whole, deleted("c", 1)], lost: [] },
    {
      name: "are deletions of what a foreign writer had before",
      stored: [...whole, stored("c", 1)],
      isForeign: true,
      lost: ["Sidecar/shop/c"],
    },
    {
      name: "are no deletions of what a foreign writer has written",
      stored: [...whole, stored("c", 2)],
      isForeign: true,
      lost: [],
    },
    {
      name: "are deletions of what we wrote at that version",
      stored: [...whole, stored("c", 2)],
      lost: ["Sidecar/shop/c"],
    },
  ];
  for (const { name, stored: there, isForeign = false, lost } of cases)
    it(name, () => {
      const found = aState().lostIn(there, isForeign);
      assert.deepEqual(named(found), lost);
      assert.ok(found.every(({ version }) => version === 2));
    });

  it("are written with their content, sealed ones as they are, deleted ones without any", () =>
    assert.deepEqual(aState().lostIn([stored("b", 2), stored("c", 1)], false), [
      { version: 2, key: keyOf("a"), config: config("a", 1) },
      { version: 2, key: sealed("s").key, closed: sealed("s") },
      { version: 2, key: keyOf("c") },
    ]));
});

describe("objects that a newer history lacks", () => {
  const cases: readonly (readonly [name: string, stored: readonly StoredObject[], lost: readonly string[]])[] = [
    ["are none where it has them", [stored("a", 1), stored("b", 2)], []],
    ["are missing ones", [stored("b", 2)], ["Sidecar/shop/a"]],
    ["are older ones", [stored("a", 1), stored("b", 1)], ["Sidecar/shop/b"]],
    ["are none that are newer, whatever they have", [stored("a", 1), stored("b", 3, { other: true })], []],
    [
      "are those with other content at the same version",
      [stored("a", 1), stored("b", 2, { other: true })],
      ["Sidecar/shop/b"],
    ],
    ["are none that cannot be read", [stored("a", 1), { version: 2, key: keyOf("b"), closed: sealed("b") }], []],
    ["are none that it has deleted later", [stored("a", 1), deleted("b", 3)], []],
  ];
  for (const [name, there, lost] of cases) it(name, () => assert.deepEqual(named(aState().lostTo(there)), lost));

  it("are written as the next version, unless they are there by now", () => {
    const state = aState();
    const next = state.missing([config("a", 1), config("b", 3), config("c", 1)]);
    assert.deepEqual(
      next,
      [config("b", 3), config("c", 1)].map((one) => ({ ...one, resourceVersion: "3" })),
    );
  });
});
