/** Transactions and objects as they are stored: decoding gives back the encoded content, and Secrets open with their key only. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { createSeal } from "@flotilla/bus";
import { aConfig, aSidecar } from "../config-store.conformance.ts";
import {
  decodeObject,
  decodeTransaction,
  encodeObject,
  encodeTransaction,
  objectsOf,
  type StoredObject,
  type Transaction,
} from "./transaction.ts";

const seal = createSeal("a key");
const sidecar = aSidecar("shop", "a");
const secret = aConfig("Secret", "shop", "tls", { data: { key: "a2VlcA==" } });
const gone = { kind: "Sidecar", namespace: "shop", name: "gone" } as const;
const whole: Transaction = {
  ...{ version: 3, id: "t", after: "s", timeMs: 7, caller: "shop/jane" },
  ...{ puts: [sidecar, secret], deletes: [gone], closed: [] },
};
const pack = (value: unknown) => zstdCompressSync(JSON.stringify(value));

describe("a transaction at rest", () => {
  it("is read as it was written", () => {
    const bytes = encodeTransaction(whole, seal);
    assert.deepEqual(decodeTransaction(bytes, seal), whole);
    assert.equal(zstdDecompressSync(bytes).includes("a2VlcA=="), false, "the Secret is sealed");
  });

  for (const [name, other] of [
    ["without a key", undefined],
    ["with another key", createSeal("another key")],
  ] as const)
    it(`has Secrets closed ${name}, which are handed on`, () => {
      const read = decodeTransaction(encodeTransaction(whole, seal), other);
      assert.deepEqual(read.puts, [sidecar]);
      assert.deepEqual(
        read.closed.map(({ key }) => key),
        [secret.key],
      );
      assert.deepEqual(decodeTransaction(encodeTransaction(read, other), seal), whole);
    });

  it("with a Secret needs a key", () =>
    assert.throws(() => encodeTransaction(whole, undefined), { code: "STORE_INVALID", message: /without a seal key/ }));

  const { puts: _, closed: __, ...rest } = whole;
  const damaged = [
    { name: "no list of objects", value: { ...rest, puts: 7 } },
    { name: "an object that is none", value: { ...rest, puts: [null] } },
    { name: "a sealed object without a key", value: { ...rest, puts: [{ sealed: "eA==" }] } },
    { name: "no version", value: { ...rest, version: "3", puts: [] } },
    { name: "a deletion without a name", value: { ...rest, puts: [], deletes: [{ kind: "Sidecar" }] } },
    { name: "a caller that is no text", value: { ...rest, puts: [], caller: 7 } },
  ];
  for (const { name, value } of damaged)
    it(`with ${name} is refused`, () => assert.throws(() => decodeTransaction(pack(value), seal)));
  it("is complete without a caller and a predecessor", () => {
    const { caller: ___, after: ____, ...least } = rest;
    assert.deepEqual(decodeTransaction(pack({ ...least, puts: [] }), seal), { ...least, puts: [], closed: [] });
  });
});

describe("an object at rest", () => {
  const cases: readonly (readonly [name: string, object: StoredObject])[] = [
    ["is read as it was written", { version: 3, key: sidecar.key, config: sidecar }],
    ["that is a Secret opens with its key", { version: 4, key: secret.key, config: secret }],
    ["that was deleted has no content", { version: 5, key: gone }],
  ];
  for (const [name, object] of cases)
    it(name, () => assert.deepEqual(decodeObject(encodeObject(object, seal), seal), object));

  it("that is a Secret stays closed without its key, and is written again as it was", () => {
    const read = decodeObject(encodeObject({ version: 4, key: secret.key, config: secret }, seal), undefined);
    assert.deepEqual([read.version, read.key, read.config, read.closed?.key], [4, secret.key, undefined, secret.key]);
    assert.deepEqual(decodeObject(encodeObject(read, undefined), seal).config, secret);
  });

  it("that is a Secret opens at its own key alone", () => {
    const bytes = encodeObject({ version: 4, key: secret.key, config: secret }, seal);
    const moved = JSON.parse(zstdDecompressSync(bytes).toString()) as { value: { key: object } };
    moved.value.key = { ...secret.key, name: "other" };
    assert.equal(decodeObject(pack(moved), seal).config, undefined);
  });

  it("that is a Secret needs a key", () =>
    assert.throws(() => encodeObject({ version: 1, key: secret.key, config: secret }, undefined), {
      code: "STORE_INVALID",
    }));
});

it("the objects of a transaction are those put, deleted and closed, each with its version", () => {
  const closed = { key: secret.key, sealed: "eA==" };
  assert.deepEqual(objectsOf({ ...whole, puts: [sidecar], closed: [closed] }), [
    { version: 3, key: sidecar.key, config: sidecar },
    { version: 3, key: gone },
    { version: 3, key: secret.key, closed },
  ]);
});
