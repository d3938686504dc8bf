/** What differs between two generations, as text. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { describeDiff } from "./diff-generations.ts";

it("differences are shown object by object, withheld ones by name", () => {
  assert.equal(describeDiff({ from: 1, to: 2, objects: [] }), "nothing differs between 1 and 2");
  const text = describeDiff({
    from: 1,
    to: 2,
    objects: [
      { object: "VirtualService/shop/web", op: "changed", before: { a: 1 }, after: { a: 2 } },
      { object: "Secret/shop/key", op: "deleted", withheld: "too large" },
    ],
  });
  assert.match(text, /generation 1/);
  assert.match(text, /^-\s*a: 1$/m);
  assert.match(text, /^\+\s*a: 2$/m);
  assert.equal(text.trimEnd().split("\n").at(-1), "Secret/shop/key deleted, not shown: too large");
});
