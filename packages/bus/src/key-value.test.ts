/** Values of a bucket, decoded where they enter. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { readValue } from "./key-value.ts";
import { SetAside } from "./set-aside.ts";

const decode = (value: Uint8Array) => JSON.parse(Buffer.from(value).toString()) as unknown;
const entry = (text: string) => ({ key: "k", value: Buffer.from(text) });

describe("a value of a bucket", () => {
  const setAside = new SetAside({ log: noopLogger, nowMs: () => 7 });
  const read = (of: Parameters<typeof readValue>[1]) => readValue({ bucket: "b", setAside }, of, decode);
  const places = () => setAside.list().map(({ place }) => place);

  it("is decoded", () => assert.deepEqual(read(entry('{"a":1}')), { a: 1 }));
  it("is none where there is no entry, or one without a value", () => {
    assert.equal(read(undefined), undefined);
    assert.equal(read({ key: "k", value: undefined as never }), undefined);
  });
  it("that cannot be read is set aside by its place until a good one, or none, stands there", () => {
    for (const good of [entry("1"), { key: "k", value: undefined as never }]) {
      assert.equal(read(entry("{")), undefined);
      assert.deepEqual(places(), ["b/k"]);
      read(good);
      assert.deepEqual(places(), []);
    }
  });
});
