/** Names of objects as people read them, and names that may have a namespace of their own. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fullName, nameIn, objectTitle } from "./mesh-object.ts";

describe("the name of an object", () => {
  it("has its namespace where there is one", () => {
    assert.equal(fullName({ namespace: "shop", name: "a" }), "shop/a");
    assert.equal(fullName({ namespace: "", name: "a" }), "a");
    assert.equal(objectTitle({ kind: "Gateway", namespace: "shop", name: "a" }), "Gateway shop/a");
  });
  for (const { text, is } of [
    { text: "a", is: { namespace: "shop", name: "a" } },
    { text: "other/a", is: { namespace: "other", name: "a" } },
    { text: "/a", is: { namespace: "", name: "a" } },
    { text: "other/a/b", is: { namespace: "other", name: "a/b" } },
  ])
    it(`within shop is ${is.namespace}/${is.name} for ${text}`, () => assert.deepEqual(nameIn("shop", text), is));
});
