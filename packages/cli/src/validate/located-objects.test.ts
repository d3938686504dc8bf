/** Where the fields of objects stand in a file. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { locateObjects } from "./located-objects.ts";

const text = `# a comment
kind: VirtualService
metadata:
  name: a
  annotations:
    example.org/a.b: x
    example.org/a: y
spec:
  hosts: [a, b]
  http:
  - match:
    - uri: {prefix: /x}
    timeout: 1s
---
---
kind: List
items:
- kind: Gateway
  metadata: {name: g}
- kind: List
  items:
  - kind: Sidecar
`;

const fields: readonly (readonly [field: string, line: number, column: number])[] = [
  ["", 2, 1],
  ["metadata.name", 4, 3],
  ["spec.hosts[1]", 9, 14],
  ["spec.http[0].timeout", 13, 5],
  ["spec.http[0].match[0].uri.prefix", 12, 13],
  ["metadata.annotations[example.org/a.b]", 6, 5],
  ["metadata.annotations.example.org/a.b", 6, 5],
  ["metadata.annotations.example.org/a", 7, 5],
];

describe("the place of a field", () => {
  const [object] = locateObjects(text).objects;
  for (const [field, line, column] of fields)
    it(field || "of the object itself", () => assert.deepEqual(object?.placeOf(field), { line, column }));

  const nearest: readonly (readonly [string, number])[] = [
    ["spec.http[0].retries.attempts", 11],
    ["spec.http[7]", 10],
    ["spec.none", 8],
    ["none", 2],
  ];
  for (const [field, line] of nearest)
    it(`${field}, which is not there: the nearest above it`, () => assert.equal(object?.placeOf(field).line, line));
});

describe("the objects of a file", () => {
  const kinds = (of: string) => locateObjects(of).objects.map(({ value }) => (value as { kind?: string }).kind);
  it("are those of lists, too, at their own place", () => {
    assert.deepEqual(kinds(text), ["VirtualService", "Gateway", "Sidecar"]);
    const [, gateway, sidecar] = locateObjects(text).objects;
    assert.deepEqual(gateway?.placeOf("metadata.name"), { line: 19, column: 14 });
    assert.deepEqual(sidecar?.placeOf(""), { line: 22, column: 5 });
  });
  it("are none of nothing", () => assert.deepEqual(locateObjects("").objects, []));
  it("may be JSON", () => assert.deepEqual(kinds('{"kind":"Gateway"}'), ["Gateway"]));
  it("a key that is there twice is refused, as a directory and kubectl refuse it", () => {
    const { objects, syntax } = locateObjects("kind: A\nspec: {}\nkind: B\n");
    assert.deepEqual([objects, syntax], [[], [{ line: 3, column: 1, reason: "Map keys must be unique" }]]);
  });
  it("an alias has the place of its use", () => {
    const [, second] = locateObjects("a: &x {b: 1}\n---\nkind: A\nspec: &y {b: 1}\nother: *y\n").objects;
    assert.deepEqual(second?.placeOf("other.b"), { line: 5, column: 1 });
  });
});

describe("text that is no YAML", () => {
  it("is reported with its place, and the other documents are read", () => {
    const { objects, syntax } = locateObjects("kind: [\n---\nkind: Gateway\n");
    assert.equal(objects.length, 1);
    assert.deepEqual(
      syntax.map(({ line }) => line),
      [2],
    );
    assert.doesNotMatch(syntax[0]?.reason ?? "", /at line/);
  });
  it("an alias that multiplies beyond bounds is one", () => {
    const bomb = [
      "a0: &a0 [x]",
      ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`),
    ];
    const { objects, syntax } = locateObjects(bomb.join("\n"));
    assert.deepEqual([objects.length, syntax.length], [0, 1]);
  });
});
