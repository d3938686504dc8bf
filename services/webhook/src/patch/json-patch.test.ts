import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { diffJson, type PatchOperation } from "./json-patch.ts";

const cases: readonly { name: string; before: unknown; after: unknown; want: readonly PatchOperation[] }[] = [
  { name: "nothing changed", before: { a: [1, { b: 2 }] }, after: { a: [1, { b: 2 }] }, want: [] },
  { name: "a field is added", before: {}, after: { a: 1 }, want: [{ op: "add", path: "/a", value: 1 }] },
  { name: "a field is removed", before: { a: 1 }, after: {}, want: [{ op: "remove", path: "/a" }] },
  {
    name: "an undefined field is none",
    before: { a: 1 },
    after: { a: undefined },
    want: [{ op: "remove", path: "/a" }],
  },
  {
    name: "a value is replaced",
    before: { a: { b: 1 } },
    after: { a: { b: "x" } },
    want: [{ op: "replace", path: "/a/b", value: "x" }],
  },
  {
    name: "names are escaped",
    before: { annotations: {} },
    after: { annotations: { "a/b~c": "x" } },
    want: [{ op: "add", path: "/annotations/a~1b~0c", value: "x" }],
  },
  {
    name: "a list grows",
    before: [1],
    after: [1, 2, 3],
    want: [
      { op: "add", path: "/-", value: 2 },
      { op: "add", path: "/-", value: 3 },
    ],
  },
  {
    name: "a list shrinks from its end",
    before: [1, 2, 3],
    after: [1],
    want: [
      { op: "remove", path: "/2" },
      { op: "remove", path: "/1" },
    ],
  },
  { name: "a type changes", before: { a: [1] }, after: { a: {} }, want: [{ op: "replace", path: "/a", value: {} }] },
];

describe("diffJson", () => {
  for (const { name, before, after, want } of cases) it(name, () => assert.deepEqual(diffJson(before, after), want));
});
