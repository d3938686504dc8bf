import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ObjectDistribution } from "../distributions.ts";
import type { ObjectStatus } from "../object-status.ts";
import { type Condition, conditionsOf, verdictOf } from "./conditions.ts";

const all: ObjectDistribution = { live: 3, concerned: 3, refusals: [], isPrecise: true, behind: [], replicas: 2 };
const status = (distribution: Partial<ObjectDistribution>, more: Partial<ObjectStatus> = {}): ObjectStatus => ({
  ...{ object: "VirtualService/shop/web", state: "accepted", problems: [], warnings: [] },
  inForce: { generation: 9, by: "c", writer: "c", objectGeneration: 4, distribution: { ...all, ...distribution } },
  ...more,
});
const words = { typeUrl: "t", resources: [], objects: [], message: "no", position: 1, atMs: 1 };
const reported = (of: ObjectStatus, before: readonly Condition[] = [], now = "later") =>
  conditionsOf(of, 5, before, now);
const texts = (conditions: readonly Condition[]) =>
  conditions.map(({ type, status: is, reason, message }) => [type, is, reason, message].join(" ").trim());

describe("conditions", () => {
  it("report what is accepted, doubtful and live", () => {
    assert.deepEqual(texts(reported(status({}))), [
      "Accepted True Valid",
      "PassedAnalysis True NoFindings",
      "Reconciled True Live 3/3 proxies up to date.",
    ]);
    const doubtful = status(
      { live: 1, isPrecise: false },
      { warnings: [{ field: "spec.http[1]", reason: "is never reached" }] },
    );
    assert.deepEqual(texts(reported(doubtful)), [
      "Accepted True Valid",
      "PassedAnalysis False Warnings spec.http[1]: is never reached",
      "Reconciled False Distributing 1/3 proxies up to date (of all).",
    ]);
    const refusals = ["a", "b", "b", "c", "d"].map((proxy) => ({ ...words, proxy }));
    assert.equal(
      texts(reported(status({ live: 0, refusals })))[2],
      "Reconciled False RefusedByProxies 0/3 proxies up to date. Refused by a, b, c and 1 more: no",
    );
    assert.equal(texts(reported(status({ replicas: 0 })))[2], "Reconciled Unknown NoReport No xds-server reports.");
  });

  it("of an object without an effect report why, whatever proxies answer", () => {
    const reason = "has no effect: nothing is generated from objects of this kind yet";
    const idle = status({}, { noEffect: reason, warnings: [{ field: "", reason }] });
    assert.deepEqual(texts(reported(idle)), [
      "Accepted True Valid",
      `PassedAnalysis False Warnings ${reason}`,
      `Reconciled False NoEffect ${reason}`,
    ]);
  });

  it("of a refused object are about its own generation, and name the one in force", () => {
    const refused = status({}, { state: "refused", problems: [{ field: "spec.hosts", reason: "Required value" }] });
    assert.deepEqual(texts(reported(refused)), [
      "Accepted False Invalid spec.hosts: Required value",
      "PassedAnalysis True NoFindings",
      "Reconciled True Live generation 4 of it: 3/3 proxies up to date.",
    ]);
    assert.deepEqual(
      reported(refused).map(({ observedGeneration }) => observedGeneration),
      [5, 5, 5],
    );
    assert.deepEqual(
      reported(status({})).map(({ observedGeneration }) => observedGeneration),
      [4, 4, 4],
    );
    const { inForce: _, ...nothing } = refused;
    assert.deepEqual(texts(reported(nothing)), ["Accepted False Invalid spec.hosts: Required value"]);
  });

  it("keep the time of their last transition, and are equal while only the number of proxies differs", () => {
    const before = reported(status({}), [], "first");
    const more = reported(status({ live: 9, concerned: 9 }), before);
    assert.ok(more.every(({ lastTransitionTime }) => lastTransitionTime === "first"));
    assert.equal(verdictOf(before), verdictOf(more));
    const less = reported(status({ live: 1 }), before);
    assert.deepEqual(
      less.map(({ lastTransitionTime }) => lastTransitionTime),
      ["first", "first", "later"],
    );
    assert.notEqual(verdictOf(before), verdictOf(less));
    assert.notEqual(verdictOf(less), verdictOf(reported(status({ live: 2 }), less)), "progress is reported");
    assert.notEqual(verdictOf(before.slice(1)), verdictOf(before));
  });
});
