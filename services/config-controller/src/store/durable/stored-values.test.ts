/** Values of the durable store that another replica may have written meanwhile: those of single objects, and the head. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { connectBus } from "@flotilla/bus";
import { noopLogger } from "@flotilla/runtime";
import { aConfig } from "../config-store.conformance.ts";
import { HeadValue, headKey } from "./head-value.ts";
import { ObjectValues } from "./object-values.ts";
import type { StoredObject, Transaction } from "./transaction.ts";

let buses = 0;

async function openValues() {
  const url = `embedded:stored-values-${++buses}`;
  const bus = await connectBus({ url, clientName: "t", log: noopLogger }, new AbortController().signal);
  const values = await bus.keyValue("config");
  const options = { values, seal: undefined, maxBytes: 100_000 };
  const stored = async () =>
    (await new ObjectValues(options).read(await values.entries())).map(({ version }) => version);
  return { values, options, stored, [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose]() };
}

const config = aConfig("Sidecar", "shop", "a", {});
const objectOf = (version: number): StoredObject => ({ version, key: config.key, config });
const place = "object/Sidecar/shop/a";

describe("the value of an object that another replica has written meanwhile", () => {
  const cases: readonly (readonly [name: string, before: number, written: number, stored: number])[] = [
    ["is replaced where it is older", 3, 5, 5],
    ["stays where it is newer", 7, 5, 7],
    ["stays where it is the same", 5, 5, 5],
  ];
  for (const [name, before, written, stored] of cases)
    it(name, async () => {
      await using one = await openValues();
      await new ObjectValues(one.options).write(objectOf(before));
      const revision = (await one.values.get(place))?.revision;
      await new ObjectValues(one.options).write(objectOf(written));
      assert.deepEqual(await one.stored(), [stored]);
      assert.equal((await one.values.get(place))?.revision === revision, stored === before);
    });

  it("is replaced where it cannot be read", async () => {
    await using one = await openValues();
    await one.values.put(place, new TextEncoder().encode("nothing"));
    await new ObjectValues(one.options).write(objectOf(1));
    assert.deepEqual(await one.stored(), [1]);
  });
});

describe("the head", () => {
  const transactionOf = (id: string): Transaction => ({
    version: 1,
    id,
    timeMs: 0,
    puts: [config],
    deletes: [],
    closed: [],
  });

  it("is this replica's own where the last transaction is", async () => {
    await using one = await openValues();
    const head = new HeadValue(one.options);
    assert.equal(await head.readOwn(), undefined, "there is none");
    assert.equal(await head.replace(transactionOf("a")), true);
    head.id = "a";
    assert.deepEqual(await head.readOwn(), transactionOf("a"));
    head.id = "b";
    assert.equal(await head.readOwn(), undefined);
  });

  it("is not replaced where another replica was faster, and stands where it is our own after all", async () => {
    await using one = await openValues();
    const [ours, theirs] = [new HeadValue(one.options), new HeadValue(one.options)];
    assert.equal(await theirs.replace(transactionOf("theirs")), true);
    assert.equal(await ours.replace(transactionOf("ours")), false);
    assert.equal(await ours.replace(transactionOf("theirs")), true);
    assert.equal(ours.revision, (await one.values.get(headKey))?.revision);
  });
});
