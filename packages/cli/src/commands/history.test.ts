import assert from "node:assert/strict";
import { it, describe as suite } from "node:test";
import { describeDiff } from "./diff-generations.ts";
import { describeHistory } from "./history.ts";

const cause = { publisher: "config-controller", epoch: "1a2b3c4d-9", revision: 2 };
const objects = [{ object: "VirtualService/shop/reviews", op: "changed" }];
const generations = [
  {
    generation: 12,
    at: "2026-01-02T00:00:01.250Z",
    changes: 3,
    objects,
    cause: { ...cause, source: "api", caller: "shop/ann" },
  },
  { generation: 9, at: "2026-01-01T00:00:00.000Z", changes: 1, objects, cause: { ...cause, source: "directory" } },
  { generation: 4, at: "", changes: 0, objects: [], cause },
];

suite("flotilla history", () => {
  it("shows when each generation was written, by whom, and its objects", () => {
    assert.equal(
      describeHistory({ generations }, "table"),
      [
        "GENERATION   TIME                   WRITTEN BY          CHANGES",
        "12           2026-01-02T00:00:01Z   shop/ann (API)      changed VirtualService/shop/reviews",
        "                                                        and 2 more",
        "9            2026-01-01T00:00:00Z   directory           changed VirtualService/shop/reviews",
        "4                                   config-controller   oldest generation that is kept",
      ].join("\n"),
    );
  });

  it("names the object that no generation changed, and leaves out an empty namespace", () => {
    assert.equal(
      describeHistory({ generations: [] }, "table", "vs/a.shop"),
      "no generation that is kept changed vs/a.shop",
    );
    const [first] = generations;
    const created = { ...first, changes: 1, objects: [{ object: "Namespace//shop", op: "created" }] };
    assert.match(describeHistory({ generations: [created as never] }, "table"), /created Namespace\/shop$/);
  });

  it("shows the publisher and its group in wide", () => {
    assert.match(describeHistory({ generations }, "wide"), /shop\/ann \(API\) +config-controller 1a2b3c4d\/2 +changed/);
  });
});

suite("flotilla diff of generations", () => {
  const object = (weight: number) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "reviews", namespace: "shop" },
    spec: { http: [{ route: [{ destination: { host: "reviews" }, weight }] }] },
  });

  it("is a unified diff of the YAML of each object", () => {
    const shown = describeDiff({
      from: 4,
      to: 9,
      objects: [
        { object: "VirtualService/shop/reviews", op: "changed", before: object(80), after: object(70) },
        { object: "Secret/shop/pair", op: "created", withheld: "Secrets are not kept" },
        { object: "VirtualService/shop/old", op: "deleted", before: { kind: "VirtualService" } },
      ],
    });
    assert.equal(
      shown,
      [
        "--- a/VirtualService/shop/reviews\tgeneration 4",
        "+++ b/VirtualService/shop/reviews\tgeneration 9",
        "@@ -8,4 +8,4 @@",
        "     - route:",
        "         - destination:",
        "             host: reviews",
        "-          weight: 80",
        "+          weight: 70",
        "Secret/shop/pair created, not shown: Secrets are not kept",
        "--- a/VirtualService/shop/old\tgeneration 4",
        "+++ /dev/null\tgeneration 9",
        "@@ -1,1 +0,0 @@",
        "-kind: VirtualService",
      ].join("\n"),
    );
    assert.equal(describeDiff({ from: 4, to: 9, objects: [] }), "nothing differs between 4 and 9");
  });
});
