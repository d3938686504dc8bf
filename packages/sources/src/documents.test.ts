import assert from "node:assert/strict";
import { test } from "node:test";
import { parseText } from "./documents.ts";

function lines(text: string): readonly (readonly [number, unknown])[] {
  const parsed = parseText(text);
  assert.ok(parsed.ok);
  return parsed.documents.map(({ line, value }) => [line, value]);
}

test("documents carry the line of their first content", () => {
  assert.deepEqual(lines("# head\na: 1\n---\n\nb: 2\n--- # note\nc: 3\n"), [
    [2, { a: 1 }],
    [5, { b: 2 }],
    [7, { c: 3 }],
  ]);
});

test("empty documents are no documents", () => {
  assert.deepEqual(lines(""), []);
  assert.deepEqual(lines("---\n---\n# nothing\n---\na: 1\n"), [[5, { a: 1 }]]);
});

test("JSON, anchors, merge keys and Windows line ends are read", () => {
  assert.deepEqual(lines('{"a": 1}'), [[1, { a: 1 }]]);
  assert.deepEqual(lines("{a: 1}"), [[1, { a: 1 }]]);
  assert.deepEqual(lines("x: &x {k: 1}\ny:\n  <<: *x\n  z: 2\n"), [[1, { x: { k: 1 }, y: { k: 1, z: 2 } }]]);
  assert.deepEqual(lines("a: 1\r\n---\r\nb: 2\r\n"), [
    [1, { a: 1 }],
    [3, { b: 2 }],
  ]);
});

test("three dashes within a block of text do not end the document", () => {
  assert.deepEqual(lines("a: |\n  one\n  ---\n  two\n"), [[1, { a: "one\n---\ntwo\n" }]]);
});

test("yes, no and dates stay text", () => {
  assert.deepEqual(lines("a: yes\nb: 2026-01-01\n"), [[1, { a: "yes", b: "2026-01-01" }]]);
});

test("an error names the line in the file", () => {
  const parsed = parseText("a: 1\n---\nb: 2\nc: [1\nd: 3\n");
  assert.ok(!parsed.ok);
  assert.equal(parsed.problems[0]?.line, 5);
  assert.match(parsed.problems[0]?.reason ?? "", /\S/);
});

test("a key written twice is an error", () => {
  const parsed = parseText("a: 1\na: 2\n");
  assert.ok(!parsed.ok);
  assert.deepEqual(parsed.problems, [{ line: 2, reason: "Map keys must be unique" }]);
});
