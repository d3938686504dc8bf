/** Objects in the shape of the Kubernetes API. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutNulls } from "./kube-object.ts";

test("null is absent, and what has none stays the same object", () => {
  const clean = { a: [{ b: 1 }] };
  assert.equal(withoutNulls(clean), clean);
  assert.deepEqual(withoutNulls({ a: null, b: [null, { c: null, d: 1 }] }), { b: [{ d: 1 }] });
});
