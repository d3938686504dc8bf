import assert from "node:assert/strict";
import { it, describe as suite } from "node:test";
import { type Distribution, describeObject, type ObjectStatus } from "../object-status.ts";
import { judge, type Verdict } from "./wait.ts";

const all: Distribution = { live: 4, concerned: 4, refusals: [], isPrecise: true, behind: [], replicas: 1 };
const status = (distribution: Partial<Distribution>, more: Partial<ObjectStatus> = {}): ObjectStatus => ({
  object: "VirtualService/shop/reviews",
  ...{ state: "accepted", problems: [], warnings: [] },
  inForce: {
    generation: 9,
    by: "config-controller 1/2",
    objectGeneration: 3,
    distribution: { ...all, ...distribution },
  },
  ...more,
});
const refusal = (proxy: string) => ({
  proxy,
  typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  message: "no",
});
const goal = { threshold: 100, objectGeneration: undefined };

suite("flotilla wait", () => {
  const cases: readonly { name: string; status: ObjectStatus; goal?: Partial<typeof goal>; verdict: Verdict }[] = [
    { name: "live on all", status: status({}), verdict: "live" },
    { name: "live on some", status: status({ live: 3 }), verdict: "waiting" },
    { name: "live on enough", status: status({ live: 3 }), goal: { threshold: 75 }, verdict: "live" },
    { name: "it concerns no proxy", status: status({ live: 0, concerned: 0 }), verdict: "live" },
    {
      name: "nothing is generated from it",
      status: status({}, { noEffect: "has no effect: why" }),
      verdict: "no effect",
    },
    { name: "no replica has reported", status: status({ live: 0, concerned: 0, replicas: 0 }), verdict: "waiting" },
    {
      name: "one proxy refuses it",
      status: status({ live: 3, refusals: [refusal("a"), refusal("a")] }),
      verdict: "refused",
    },
    {
      name: "one proxy refuses it, the others may still do",
      status: status({ live: 2, refusals: [refusal("a")] }),
      goal: { threshold: 75 },
      verdict: "waiting",
    },
    { name: "an older one is live", status: status({}), goal: { objectGeneration: 4 } as never, verdict: "waiting" },
    { name: "the last one reported is refused", status: status({}, { state: "refused" }), verdict: "refused" },
  ];
  for (const { name, status: of, goal: wanted, verdict } of cases)
    it(`${name}: ${verdict}`, () => assert.equal(judge(of, { ...goal, ...wanted }), verdict));

  it("reports an object's state in words", () => {
    const reported = status(
      { live: 2, isPrecise: false, behind: ["cart.shop"], refusals: [refusal("web.shop")] },
      { warnings: [{ field: "spec.http[1]", reason: "is never reached" }] },
    );
    assert.equal(
      describeObject(reported),
      [
        "VirtualService/shop/reviews  live on 2 of 4 proxies (all are counted)  generation 9",
        "  by config-controller 1/2",
        "  warning: spec.http[1]: is never reached",
        "  refused by web.shop (Cluster): no",
        "  waiting for cart.shop",
      ].join("\n"),
    );
  });
});
