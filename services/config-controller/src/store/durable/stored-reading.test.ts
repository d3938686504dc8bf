/** A read of everything that is stored, beside writers that have not finished, and values that cannot be read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KeyValue, KeyValueEntry } from "@flotilla/bus";
import { aSidecar } from "../config-store.conformance.ts";
import { HeadValue, headKey } from "./head-value.ts";
import { away, bounded, ObjectValues } from "./object-values.ts";
import { readOnce, readStored } from "./stored-reading.ts";
import { encodeObject, encodeTransaction, type Transaction } from "./transaction.ts";

const config = aSidecar("shop", "a");
const headOf = (version: number): KeyValueEntry => {
  const transaction: Transaction = { version, id: `t${version}`, timeMs: 0, puts: [], deletes: [], closed: [] };
  return { key: headKey, value: encodeTransaction(transaction, undefined), revision: 10 + version };
};
const objectOf = (version: number): KeyValueEntry => ({
  key: "object/Sidecar/shop/a",
  value: encodeObject({ version, key: config.key, config }, undefined),
  revision: version,
});

/** Values that are as `reads` has them, one a read; the last one goes on. */
function stored(...reads: readonly (readonly KeyValueEntry[] | Error)[]) {
  let at = 0;
  const entries = async () => {
    const found = reads[Math.min(at++, reads.length - 1)] ?? [];
    if (found instanceof Error) throw found;
    return found;
  };
  const setAside = { note: () => undefined, heal: () => undefined };
  const values = { bucket: "config", setAside, entries } as unknown as KeyValue;
  const options = { values, seal: undefined, maxBytes: 100_000 };
  const objects = new ObjectValues(options);
  return { values, head: new HeadValue(options), objects, reads: () => at };
}

describe("a read of what is stored", () => {
  const cases = [
    { name: "nothing", entries: [], expected: { revision: 0, version: undefined, objects: 0, newest: 0 } },
    { name: "a head alone", entries: [headOf(3)], expected: { revision: 13, version: 3, objects: 0, newest: 3 } },
    {
      name: "objects alone",
      entries: [objectOf(2)],
      expected: { revision: 0, version: undefined, objects: 1, newest: 2 },
    },
    {
      name: "a head and objects",
      entries: [objectOf(2), headOf(3)],
      expected: { revision: 13, version: 3, objects: 1, newest: 3 },
    },
    {
      name: "an object that is newer than the head",
      ...{ entries: [objectOf(4), headOf(3)], expected: { revision: 13, version: 3, objects: 1, newest: 4 } },
    },
    {
      name: "a key that is no object, and one without a value",
      entries: [
        { ...objectOf(4), key: "other/Sidecar/shop/a" },
        { key: "object/Sidecar/shop/b", revision: 5 },
      ],
      expected: { revision: 0, version: undefined, objects: 0, newest: 0 },
    },
  ];
  for (const { name, entries, expected } of cases)
    it(`finds ${name}`, async () => {
      const { values, head, objects } = stored(entries);
      const { revision, transaction, objects: found, newest } = await readOnce(values, head, objects);
      assert.deepEqual({ revision, version: transaction?.version, objects: found.length, newest }, expected);
      assert.deepEqual([...objects.unreadable], []);
    });

  it("names objects that cannot be read, until they can", async () => {
    const damaged = { ...objectOf(2), value: Buffer.from("nothing") };
    const { values, head, objects } = stored([damaged], [objectOf(2)]);
    assert.deepEqual((await readOnce(values, head, objects)).objects, []);
    assert.deepEqual([...objects.unreadable.keys()], ["Sidecar/shop/a"]);
    assert.equal((await readOnce(values, head, objects)).objects.length, 1);
    assert.equal(objects.unreadable.size, 0);
  });

  it("is done again while a writer is between the head and its objects", async () => {
    const one = stored([objectOf(4), headOf(3)], [objectOf(4), headOf(4)]);
    assert.equal((await readStored(one.values, one.head, one.objects)).transaction?.version, 4);
    assert.equal(one.reads(), 2);
  });

  for (const [name, entries] of [
    ["the head is the newest", [objectOf(2), headOf(3)]],
    ["there is no head", [objectOf(2)]],
  ] as const)
    it(`is done once where ${name}`, async () => {
      const one = stored(entries);
      await readStored(one.values, one.head, one.objects);
      assert.equal(one.reads(), 1);
    });

  it("fails with the reason where the bus does not answer", async () => {
    const one = stored(new Error("no responders"));
    const message = /the bus does not answer: no responders$/;
    await assert.rejects(readStored(one.values, one.head, one.objects), { code: "STORE_AWAY", message });
  });
});

describe("failures of the bus", () => {
  it("leave in doubt what failed before", async () => {
    const ask = () => Promise.reject("closed");
    await assert.rejects(away(ask), { message: /: closed$/ });
    await assert.rejects(away(ask, new Error("first")), { message: /: closed; whether it is stored is not known$/ });
  });
  it("are avoided where a value is larger than the bus takes", () => {
    const bytes = new Uint8Array(10);
    assert.equal(bounded(10, bytes), bytes);
    assert.throws(() => bounded(9, bytes), {
      code: "STORE_TOO_LARGE",
      message: /has 10 bytes packed, the bus takes 9/,
    });
  });
});
