/** The status of an object in words. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Distribution, describeObject, type ObjectStatus, summarize } from "./object-status.ts";

const reach: Distribution = { live: 2, concerned: 3, refusals: [], isPrecise: true, behind: [], replicas: 1 };
const status = (distribution: Partial<Distribution> = {}, more: Partial<ObjectStatus> = {}): ObjectStatus => ({
  ...{ object: "VirtualService/shop/web", state: "accepted", problems: [], warnings: [] },
  inForce: { generation: 7, by: "alice", distribution: { ...reach, ...distribution } },
  ...more,
});
const { inForce: _, ...unpublished } = status();

const cases: readonly (readonly [name: string, status: ObjectStatus, line: string])[] = [
  ["not in force", { ...unpublished, state: "refused" }, "refused"],
  ["on its way", status(), "live on 2 of 3 proxies it concerns  generation 7"],
  ["counted on all", status({ isPrecise: false }), "live on 2 of 3 proxies (all are counted)  generation 7"],
  ["of no proxy", status({ concerned: 0 }), "concerns no connected proxy  generation 7"],
  ["without reports", status({ replicas: 0 }), "no xds-server reports how far it has come  generation 7"],
  ["without effect", status({}, { noEffect: "shadowed" }), "accepted, without effect  generation 7"],
  [
    "refused after a good one",
    status({}, { state: "refused" }),
    "refused, the last good one is  live on 2 of 3 proxies it concerns  generation 7",
  ],
];

describe("the status of an object", () => {
  for (const [name, given, line] of cases)
    it(`in one line: ${name}`, () => assert.equal(summarize(given), `VirtualService/shop/web  ${line}`));

  it("in full", () => {
    const message = "no such\n  cluster";
    const refusals = [
      { proxy: "web.shop", typeUrl: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", message },
    ];
    const { inForce, ...given } = status(
      { refusals, behind: ["a.shop", "b.shop"] },
      { problems: [{ field: "spec.http", reason: "is empty" }], warnings: [{ field: "", reason: "is old" }] },
    );
    const shown = describeObject({ ...given, ...(inForce && { inForce: { ...inForce, source: "mesh.yaml" } }) });
    assert.deepEqual(shown.split("\n").slice(1), [
      "  by alice",
      "  read from mesh.yaml",
      "  refused: spec.http: is empty",
      "  warning: is old",
      "  refused by web.shop (RouteConfiguration): no such cluster",
      "  waiting for a.shop, b.shop",
    ]);
  });
});
