import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  anything,
  decodeShape,
  flag,
  integer,
  listOf,
  number,
  objectOf,
  oneOfTexts,
  recordOf,
  type Shape,
  text,
} from "./shape.ts";

const nested = objectOf({ items: listOf(objectOf({ name: text }, { weight: number })) });
const deep = (levels: number): unknown => (levels === 0 ? 0 : [deep(levels - 1)]);

const cases: readonly (readonly [name: string, shape: Shape, value: unknown, problem: string | undefined])[] = [
  ["a text", text, "a", undefined],
  ["a number for a text", text, 1, " is no text"],
  ["null for an object", objectOf({}), null, " is no object"],
  ["a list for an object", objectOf({}), [], " is no object"],
  ["a text for a flag", flag, "true", " is neither true nor false"],
  ["a negative count", integer, -1, " is no natural number"],
  ["infinity", number, Number.POSITIVE_INFINITY, " is no number"],
  ["an unknown word", oneOfTexts("a", "b"), "c", " is none of a, b"],
  ["an absent optional field", nested, { items: [{ name: "a" }] }, undefined],
  ["a field that the shape does not name", nested, { items: [], more: 1 }, undefined],
  ["a wrong optional field", nested, { items: [{ name: "a", weight: "1" }] }, ".items[0].weight is no number"],
  ["an absent field", nested, { items: [{ name: "a" }, {}] }, ".items[1].name is no text"],
  ["a wrong value of a record", recordOf(text), { a: "1", b: 2 }, ".b is no text"],
  ["a key that is called as a method of objects", recordOf(text), { toString: "1" }, undefined],
  ["100 levels", anything, deep(100), undefined],
  ["101 levels", anything, deep(101), " has more than 100 levels"],
];

describe("shapes", () => {
  for (const [name, shape, value, problem] of cases) it(name, () => assert.equal(shape(value), problem));

  it("of bytes are decoded, or refused by the name of the field", () => {
    const bytes = (json: string) => new TextEncoder().encode(json);
    assert.deepEqual(decodeShape(bytes('{"items":[]}'), nested), { items: [] });
    assert.throws(() => decodeShape(bytes('{"items":7}'), nested), { name: "RangeError", message: "items is no list" });
    assert.throws(() => decodeShape(bytes("7"), nested), { message: "the value is no object" });
    assert.throws(() => decodeShape(bytes("{"), nested), SyntaxError);
    assert.throws(() => decodeShape(Buffer.of(0xff), nested), TypeError);
  });
});
