import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { blamed, mentions } from "./plan.ts";

const cases: readonly { readonly text: string; readonly name: string; readonly expected: boolean }[] = [
  { text: "Error adding/updating listener(s) 0.0.0.0_80: bad", name: "0.0.0.0_80", expected: true },
  { text: "Error adding/updating listener(s) 0.0.0.0_8080: bad", name: "0.0.0.0_80", expected: false },
  { text: "outbound|80||a: no", name: "outbound|80||a", expected: true },
  { text: "outbound|80||ab and outbound|80||a", name: "outbound|80||a", expected: true },
  { text: "x-outbound|80||a", name: "outbound|80||a", expected: false },
  { text: "unexpected EOF", name: "", expected: false },
  { text: "", name: "", expected: false },
  { text: `${" ".repeat(16_384)}late`, name: "late", expected: false },
];

describe("blame", () => {
  for (const { text, name, expected } of cases)
    it(`"${name}" is ${expected ? "" : "not "}named by "${text.trim().slice(0, 60)}"`, () => {
      assert.equal(mentions(text, name), expected);
    });

  it("falls on all resources where none or too many could be named", () => {
    assert.deepEqual(blamed("b is wrong", ["a", "b"]), ["b"]);
    assert.deepEqual(blamed("something is wrong", ["a", "b"]), ["a", "b"]);
    assert.deepEqual(blamed("unexpected EOF", ["", "a"]), ["", "a"]);
    const many = Array.from({ length: 5_001 }, (_, i) => `name-${i}`);
    assert.equal(blamed("name-7 is wrong", many).length, many.length);
  });

  it("looks for names in the first 16,384 characters of a text", () => {
    const filler = "x".repeat(16_380);
    assert.deepEqual(blamed(`${filler} one two`, ["one", "two"]), ["one"]);
    assert.deepEqual(blamed(`${filler}${filler} one`, ["one", "two"]), ["one", "two"]);
  });
});
