import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDocumentText, splitDocuments } from "./documents.ts";

/** Line in the file and value of each document that has content; errors as line and text. */
function read(text: string): readonly (readonly [number, unknown])[] {
  return splitDocuments(text).flatMap(({ body, line }) => {
    const parsed = parseDocumentText(body);
    if (!parsed.ok) return parsed.problems.map(({ line: at, reason }) => [line + at - 1, reason] as const);
    return parsed.value === null ? [] : [[line + parsed.line - 1, parsed.value] as const];
  });
}

test("documents carry the line of their first content", () => {
  assert.deepEqual(read("# head\na: 1\n---\n\nb: 2\n--- # note\nc: 3\n"), [
    [2, { a: 1 }],
    [5, { b: 2 }],
    [7, { c: 3 }],
  ]);
});

test("empty documents are no documents", () => {
  assert.deepEqual(read(""), []);
  assert.deepEqual(read("---\n---\n# nothing\n---\na: 1\n"), [[5, { a: 1 }]]);
});

test("JSON, anchors, merge keys and Windows line ends are read", () => {
  assert.deepEqual(read('{"a": 1}'), [[1, { a: 1 }]]);
  assert.deepEqual(read("{a: 1}"), [[1, { a: 1 }]]);
  assert.deepEqual(read('{"a": 1}\n---\n{"b": 2}\n'), [
    [1, { a: 1 }],
    [3, { b: 2 }],
  ]);
  assert.deepEqual(read("x: &x {k: 1}\ny:\n  <<: *x\n  z: 2\n"), [[1, { x: { k: 1 }, y: { k: 1, z: 2 } }]]);
  assert.deepEqual(read("a: 1\r\n---\r\nb: 2\r\n"), [
    [1, { a: 1 }],
    [3, { b: 2 }],
  ]);
});

test("three dashes within a block of text do not end the document", () => {
  assert.deepEqual(read("a: |\n  one\n  ---\n  two\n"), [[1, { a: "one\n---\ntwo\n" }]]);
});

test("yes, no and dates stay text", () => {
  assert.deepEqual(read("a: yes\nb: 2026-01-01\n"), [[1, { a: "yes", b: "2026-01-01" }]]);
});

test("an error names the line in the file", () => {
  const [good, [line, reason] = []] = read("a: 1\n---\nb: 2\nc: [1\nd: 3\n");
  assert.deepEqual(good, [1, { a: 1 }]);
  assert.equal(line, 5);
  assert.match(String(reason), /\S/);
});

test("a key written twice is an error", () => {
  assert.deepEqual(read("a: 1\na: 2\n"), [[2, "Map keys must be unique"]]);
});

test("a key is compared with those of its own mapping only, merge keys not at all", () => {
  assert.deepEqual(read("a: {k: 1}\nb: {k: 2}\n"), [[1, { a: { k: 1 }, b: { k: 2 } }]]);
  assert.deepEqual(read("a:\n  b: 1\n  c: 2\n  b: 3\n"), [[4, "Map keys must be unique"]]);
  assert.deepEqual(read("x: &x {k: 1}\ny: &y {l: 2}\nz:\n  <<: *x\n  <<: *y\n").at(-1)?.[0], 1);
});

test("a key that is a list or a mapping is an error, at once however deep, and one that an alias names is its text", () => {
  const reason = "a key must be a text, neither a list nor a mapping";
  assert.deepEqual(read("a: 1\n? {b: 1}\n: 2\n"), [[2, reason]]);
  assert.deepEqual(read("a: &x [1]\n*x : 2\n"), [[2, reason]]);
  assert.deepEqual(read("? ".repeat(400)), [[1, reason]]);
  assert.deepEqual(read("a: &x b\n*x : 2\n"), [[1, { a: "b", b: 2 }]]);
});

test("an alias without an anchor is an error at its line, and a bomb of aliases is one too", () => {
  const [[line, reason] = []] = read("a: 1\nhosts: [*.example.com]\n");
  assert.equal(line, 2);
  assert.match(String(reason), /^Unresolved alias .*example\.com; a value that begins with \* needs quotes$/);
  const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
  for (const [i, name] of [..."bcdefgh"].entries())
    bomb.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${"abcdefg"[i]}`).join(", ")}]`);
  assert.match(String(read(bomb.join("\n"))[0]?.[1]), /Excessive alias count/);
});

test("the work for a mapping grows with its keys, not with their square", () => {
  const keys = (count: number) => Array.from({ length: count }, (_, i) => `k${i}: ${i}`).join("\n");
  const [[, value] = []] = read(keys(50_000));
  assert.equal(Object.keys(value as object).length, 50_000);
});

test("odd keys write no warnings: senders of documents could fill the log", ({ mock }) => {
  const { mock: warnings } = mock.method(process, "emitWarning");
  assert.equal(parseDocumentText("? [a]\n: b\n").ok, false);
  assert.equal(warnings.callCount(), 0);
});
