/** A review of one object: what it finds is what the analysis of the whole mesh would find about it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { configurationAnalyzers } from "./analyzers/all.ts";
import { meshObject } from "./mesh-object.ts";
import { MeshReview } from "./mesh-review.ts";

const route = (name: string, spec: object) => {
  const object = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "shop" },
  };
  return meshObject({ ...object, spec }) ?? assert.fail("no object");
};
const gateway =
  meshObject({
    ...{ apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "front", namespace: "shop" } },
    spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
  }) ?? assert.fail("no object");
const toFront = { hosts: ["a.example.com"], gateways: ["front"], http: [{ route: [{ destination: { host: "a" } }] }] };
const limits = { maxCharacters: 10_000, budgetMs: 1_000 };

function reviewOf(nowMs: () => number = () => 0): MeshReview {
  const validityOf = () => assert.fail("no certificate is read");
  return new MeshReview(configurationAnalyzers(), { nowMs, validityOf });
}

describe("a review", () => {
  it("finds what leads nowhere, until the object that it names is there", () => {
    const review = reviewOf();
    const codes = () => review.review(route("a", toFront), limits).map(({ code, field }) => `${code} ${field}`);
    const missing = ["IST0101 spec.gateways[0]", "IST0132 spec.gateways[0]"];
    assert.deepEqual(codes(), missing);
    review.put(gateway);
    assert.deepEqual(codes(), []);
    review.remove(gateway.key);
    assert.deepEqual(codes(), missing);
  });

  it("holds the object against others, and takes the place of the one of its name", () => {
    const review = reviewOf();
    const hosts = { hosts: ["reviews"], http: [{ route: [{ destination: { host: "reviews" } }] }] };
    review.put(route("a", hosts));
    assert.deepEqual(
      review.review(route("b", hosts), limits).map(({ code }) => code),
      ["IST0109"],
    );
    assert.deepEqual(review.review(route("a", hosts), limits), []);
    assert.equal(review.size, 1);
    // Nothing of the reviews is left.
    review.remove(route("a", hosts).key);
    assert.deepEqual([review.review(route("b", hosts), limits), review.size], [[], 0]);
  });

  it("passes over what is too large, and ends with its time", () => {
    assert.deepEqual(reviewOf().review(route("a", toFront), { ...limits, maxCharacters: 50 }), []);
    let now = 0;
    assert.deepEqual(reviewOf(() => now++).review(route("a", toFront), { ...limits, budgetMs: -1 }), []);
  });
});
