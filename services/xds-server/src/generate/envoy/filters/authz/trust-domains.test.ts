import assert from "node:assert/strict";
import { test } from "node:test";
import { inTrustDomains } from "./principals.ts";

const mesh = ["new-td", "old-td", "else"];

for (const [given, wanted] of [
  ["old-td/ns/a/sa/b", ["new-td/ns/a/sa/b", "old-td/ns/a/sa/b", "else/ns/a/sa/b"]],
  ["cluster.local/ns/a/sa/b", ["new-td/ns/a/sa/b", "old-td/ns/a/sa/b", "else/ns/a/sa/b"]],
  ["*-td/ns/a/sa/b", ["*-td/ns/a/sa/b", "else/ns/a/sa/b"]],
  ["stranger/ns/a/sa/b", ["stranger/ns/a/sa/b"]],
  ["*/ns/a/sa/b", ["*/ns/a/sa/b"]],
  ["*", ["*"]],
  ["old-td/*", ["old-td/*"]],
] as const) {
  test(`principal ${given} under the mesh's trust domains`, () => {
    assert.deepEqual(inTrustDomains([given], mesh), wanted);
  });
}

test("without trust domains a principal is meant as it is written", () => {
  const principals = ["cluster.local/ns/a/sa/b", "td/ns/a/sa/b"];
  assert.deepEqual(inTrustDomains(principals, []), principals);
});
