import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openTestApi, root, virtualService } from "./api.fixture.ts";
import { applyJsonPatch, applyMergePatch } from "./patches.ts";

/** The examples of RFC 7386, appendix A. */
const merges: readonly (readonly [unknown, unknown, unknown])[] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

/** After RFC 6902, appendix A; a text: the message of the rejection. */
const edits: readonly {
  readonly name: string;
  readonly from: unknown;
  readonly patch: unknown;
  readonly to: unknown;
}[] = [
  { name: "replaces the whole", from: { a: 1 }, patch: [{ op: "replace", path: "", value: { b: 2 } }], to: { b: 2 } },
  { name: "adds a member", from: { a: 1 }, patch: [{ op: "add", path: "/b", value: 2 }], to: { a: 1, b: 2 } },
  {
    name: "adds into a list",
    from: { l: [1, 3] },
    patch: [{ op: "add", path: "/l/1", value: 2 }],
    to: { l: [1, 2, 3] },
  },
  {
    name: "adds at the end of a list",
    from: { l: [1] },
    patch: [{ op: "add", path: "/l/-", value: [2] }],
    to: { l: [1, [2]] },
  },
  {
    name: "removes",
    from: { a: 1, l: [1, 2] },
    patch: [
      { op: "remove", path: "/l/0" },
      { op: "remove", path: "/a" },
    ],
    to: { l: [2] },
  },
  { name: "replaces", from: { a: { b: 1 } }, patch: [{ op: "replace", path: "/a/b", value: 2 }], to: { a: { b: 2 } } },
  {
    name: "moves",
    from: { a: { b: 1 }, c: {} },
    patch: [{ op: "move", from: "/a/b", path: "/c/d" }],
    to: { a: {}, c: { d: 1 } },
  },
  { name: "copies", from: { a: [1], b: 0 }, patch: [{ op: "copy", from: "/a", path: "/b" }], to: { a: [1], b: [1] } },
  { name: "tests", from: { a: [1] }, patch: [{ op: "test", path: "/a", value: [1] }], to: { a: [1] } },
  {
    name: "knows escapes",
    from: { "a/b": 1, "m~n": 2 },
    patch: [
      { op: "remove", path: "/a~1b" },
      { op: "remove", path: "/m~0n" },
    ],
    to: {},
  },
  { name: "refuses a test that fails", from: { a: 1 }, patch: [{ op: "test", path: "/a", value: 2 }], to: "another" },
  {
    name: "refuses a place that is not there",
    from: { a: [1] },
    patch: [{ op: "replace", path: "/a/1", value: 2 }],
    to: "no place 1",
  },
  {
    name: "refuses a parent that is not there",
    from: {},
    patch: [{ op: "add", path: "/a/b", value: 1 }],
    to: 'no "a"',
  },
  { name: "refuses unknown operations", from: {}, patch: [{ op: "merge", path: "/a" }], to: "no operation" },
  {
    name: "refuses to copy what is not there",
    from: { a: {} },
    patch: [{ op: "copy", from: "/a/b", path: "/c" }],
    to: 'no "b"',
  },
  {
    name: "takes no field of a text for a member",
    from: { a: "text" },
    patch: [{ op: "copy", from: "/a/length", path: "/c" }],
    to: 'no "length"',
  },
  {
    name: "takes no prototype for a member",
    from: {},
    patch: [{ op: "remove", path: "/constructor" }],
    to: 'no "constructor"',
  },
];

describe("patches", () => {
  for (const [index, [target, patch, result]] of merges.entries())
    it(`merge patch, example ${index + 1}`, () => assert.deepEqual(applyMergePatch(target, patch), result));

  for (const { name, from, patch, to } of edits)
    it(`JSON patch ${name}`, () => {
      const before = structuredClone(from);
      if (typeof to === "string")
        assert.throws(
          () => applyJsonPatch(from, patch),
          (error: Error) => error.message.includes(to),
        );
      else assert.deepEqual(applyJsonPatch(from, patch), to);
      assert.deepEqual(from, before);
    });

  it("a JSON patch that doubles the document again and again is refused", async () => {
    await using api = await openTestApi();
    await api.call("POST", `${root}/virtualservices`, virtualService("web", "one"));
    const doubling = Array.from({ length: 60 }, (_, i) => ({ op: "copy", from: "/spec", path: `/spec/x${i}` }));
    const startedMs = performance.now();
    const type = "application/json-patch+json";
    const refused = await api.call("PATCH", `${root}/virtualservices/web`, doubling, type);
    assert.equal(refused.status, 422);
    assert.match(refused.body.message, /the patch copies more than 4194304 bytes/);
    assert.ok(performance.now() - startedMs < 5_000);
    const odd = await api.call("PATCH", `${root}/virtualservices/web`, [{ op: { toString: 1 }, path: "/a" }], type);
    assert.equal(odd.status, 422);
    const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "VirtualService" }));
    assert.equal((await api.call("PATCH", `${root}/virtualservices/web`, many, type)).status, 400);
  });

  it("change objects of the API, judged as a whole, in the forms that a Kubernetes API takes", async () => {
    await using api = await openTestApi();
    const url = `${root}/virtualservices/web`;
    const [merge, json] = ["application/merge-patch+json", "application/json-patch+json"];
    assert.equal((await api.call("PATCH", url, { spec: {} }, merge)).status, 404);
    await api.call("POST", `${root}/virtualservices`, virtualService("web", "one"));
    const merged = await api.call("PATCH", url, { metadata: { labels: { a: "b" } } }, merge);
    assert.deepEqual([merged.status, merged.body.metadata.labels], [200, { a: "b" }]);
    const edited = await api.call("PATCH", url, [{ op: "replace", path: "/spec/hosts/0", value: "two" }], json);
    assert.deepEqual(edited.body.spec.hosts, ["two"]);
    assert.equal((await api.call("PATCH", url, { spec: { hosts: 5 } }, merge)).status, 422);
    const stale = { metadata: { resourceVersion: merged.body.metadata.resourceVersion }, spec: { hosts: ["late"] } };
    assert.equal((await api.call("PATCH", url, stale, merge)).status, 409);
    assert.equal((await api.call("PATCH", url, { metadata: { name: "other" } }, merge)).status, 400);
    assert.equal((await api.call("PATCH", url, {}, "application/strategic-merge-patch+json")).status, 415);
    assert.deepEqual((await api.call("GET", url)).body.spec.hosts, ["two"]);
    const sparse = [{ op: "add", path: "/spec/exportTo", value: null }];
    assert.ok(!("exportTo" in (await api.call("PATCH", url, sparse, json)).body.spec));
    await api.call("POST", "/api/v1/namespaces", { metadata: { name: "shop" } });
    const labelled = await api.call(
      "PATCH",
      "/api/v1/namespaces/shop",
      { metadata: { labels: { x: "y" } } },
      "application/strategic-merge-patch+json",
    );
    assert.deepEqual(labelled.body.metadata.labels, { x: "y" });
  });
});
