import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { MassDisconnectDetector } from "./stream-admission.ts";

describe("mass disconnects", () => {
  const cases = [
    { name: "most streams left", counts: [10, 4], detected: 1 },
    { name: "fewer than half left", counts: [10, 6], detected: 0 },
    { name: "they came again at once", counts: [10, 4, 9], detected: 0 },
    { name: "there were never many", counts: [3, 0], detected: 0 },
    { name: "they leave one by one: once, at the end", counts: [10, 5, 4, 3, 2, 1, 0], detected: 1 },
  ];
  for (const { name, counts, detected } of cases) {
    it(name, async () => {
      let seen = 0;
      let marks = 0;
      using detector = new MassDisconnectDetector({ quietMs: 1, minPeak: 5, onMassDisconnect: () => seen++ });
      for (const count of counts) detector.count(count);
      using mark = new MassDisconnectDetector({ quietMs: 10, minPeak: 1, onMassDisconnect: () => marks++ });
      mark.count(1);
      mark.count(0);
      await until(() => marks === 1, { withinMs: 30_000, what: "a later timer" });
      assert.equal(seen, detected);
    });
  }
});
