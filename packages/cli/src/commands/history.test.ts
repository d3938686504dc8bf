import assert from "node:assert/strict";
import { it, describe as suite } from "node:test";
import { describeDiff } from "./diff-generations.ts";
import { describeHistory } from "./history.ts";

suite("flotilla history and diff", () => {
  it("tell each generation with its cause and objects", () => {
    const objects = [{ object: "VirtualService/shop/reviews", op: "changed" }];
    assert.equal(
      describeHistory({
        generations: [
          { generation: 9, at: "", by: "config-controller 1a2b3c4d/2 from directory", changes: 3, objects },
          { generation: 4, at: "", by: "config-controller 1a2b3c4d/1", changes: 0, objects: [] },
        ],
      }),
      [
        "9  config-controller 1a2b3c4d/2 from directory",
        "    changed VirtualService/shop/reviews",
        "    and 2 more",
        "4  config-controller 1a2b3c4d/1",
        "    what is kept begins here",
      ].join("\n"),
    );
  });

  it("tell what differs, and what is not shown", () => {
    assert.equal(
      describeDiff({
        from: 4,
        to: 9,
        objects: [
          {
            object: "VirtualService/shop/reviews",
            op: "changed",
            differences: [{ path: "spec.http[0].route[0].weight", before: 80, after: 70 }],
          },
          { object: "Secret/shop/pair", op: "created", withheld: "Secrets are not kept" },
        ],
      }),
      [
        "changed VirtualService/shop/reviews",
        "    spec.http[0].route[0].weight: 80 → 70",
        "created Secret/shop/pair (not shown: Secrets are not kept)",
      ].join("\n"),
    );
    assert.equal(describeDiff({ from: 4, to: 9, objects: [] }), "nothing differs between 4 and 9");
  });
});
