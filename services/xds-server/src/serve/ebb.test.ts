import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { Ebb } from "./ebb.ts";

describe("ebb", () => {
  const cases = [
    { name: "most streams left", counts: [10, 4], ebbs: 1 },
    { name: "fewer than half left", counts: [10, 6], ebbs: 0 },
    { name: "they came again at once", counts: [10, 4, 9], ebbs: 0 },
    { name: "there were never many", counts: [3, 0], ebbs: 0 },
    { name: "they leave one by one: once, at the end", counts: [10, 5, 4, 3, 2, 1, 0], ebbs: 1 },
  ];
  for (const { name, counts, ebbs } of cases) {
    it(name, async () => {
      let seen = 0;
      let marks = 0;
      using ebb = new Ebb({ quietMs: 1, minHeight: 5, onEbb: () => seen++ });
      for (const count of counts) ebb.count(count);
      using mark = new Ebb({ quietMs: 10, minHeight: 1, onEbb: () => marks++ });
      mark.count(1);
      mark.count(0);
      await until(() => marks === 1, { withinMs: 30_000, what: "a later timer" });
      assert.equal(seen, ebbs);
    });
  }
});
