/** One object in several sources, for every mix of them. conflicts.integration.test.ts has real ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config, ConfigChange } from "@flotilla/model";
import { listProblems } from "../debug/problems.ts";
import { AggregateStore } from "./aggregate-store.ts";

const order = ["file:mesh", "kubernetes", "xds://other:15010", "api"];
const key = { kind: "Sidecar", namespace: "shop", name: "a" };
const of = (source: string): Config => ({ key, labels: {}, annotations: {}, creationTimeMs: 0, spec: source });
const put = (source: string): ConfigChange => ({ type: "config", op: "put", key, value: of(source) });

/** All choices of two and more. */
const mixes = Array.from({ length: 2 ** order.length }, (_, bits) => order.filter((__, at) => (bits >> at) & 1));

describe("one object in several sources", () => {
  for (const mix of mixes.filter(({ length }) => length >= 2))
    it(`${mix.join(", ")}: the first wins, the others are reported, each takes over in turn`, () => {
      let reported = 0;
      const view = new AggregateStore(order, () => reported++);
      for (const source of mix.toReversed()) view.apply(source, [put(source)]);
      for (const [index, winner] of mix.entries()) {
        const ignored = mix.slice(index + 1);
        assert.equal(view.get(key)?.spec, winner);
        assert.deepEqual(view.all(), [of(winner)]);
        const reasons = listProblems([], view).map(({ source, reason }) => [source, reason]);
        assert.deepEqual(
          reasons,
          ignored.map((source) => [source, `of ${source} is not in force: it is taken from ${winner}`]),
        );
        assert.equal(view.hiddenBy(mix.at(-1) ?? "", key), ignored.length === 0 ? undefined : winner);
        const [change] = view.apply(winner, [{ type: "config", op: "delete", key }]);
        assert.equal(
          change?.op,
          ignored.length === 0 ? "delete" : "put",
          "it is gone for no reader before the last lets go",
        );
      }
      assert.equal(reported, 2 * (mix.length - 1), "reported at each conflict that begins, changes or ends");
    });
});
