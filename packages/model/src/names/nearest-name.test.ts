/** Suggestions for a misspelt name. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nearestName } from "./nearest-name.ts";

const known = ["details", "productpage", "ratings", "reviews", "reviews-v2"];
const cases: readonly (readonly [name: string, nearest: string | undefined])[] = [
  ["revews", "reviews"],
  ["reviewss", "reviews"],
  ["rewievs", "reviews"],
  ["reviews-v3", "reviews-v2"],
  ["ratngs", "ratings"],
  ["rating", "ratings"],
  ["checkout", undefined],
  ["a", undefined],
  ["", undefined],
];

describe("the nearest name", () => {
  for (const [name, nearest] of cases)
    it(`of ${JSON.stringify(name)} is ${nearest ?? "none"}`, () => assert.equal(nearestName(name, known), nearest));

  it("is the first by code unit of several that are equally near", () => {
    assert.equal(nearestName("web-0", ["web-2", "web-1", "web-3"]), "web-1");
  });

  it("may differ by a third of the letters that count", () => {
    assert.equal(nearestName("db.shop.svc", ["ab.shop.svc"], 2), "ab.shop.svc");
    assert.equal(nearestName("db.shop.svc", ["abc.shop.svc"], 2), undefined);
  });
});
