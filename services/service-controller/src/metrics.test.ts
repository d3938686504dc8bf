/** Metrics that are looked up when they are read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { declareDutyGauge } from "./metrics.ts";

describe("the duty to publish", () => {
  it("is 1 in the replica that has it and 0 in the others, as it is at each reading", async () => {
    const metrics = createMetrics();
    let isOurs = false;
    declareDutyGauge(metrics, () => isOurs);
    const read = async () => /^flotilla_registry_publishes (\d)$/m.exec(await metrics.text())?.[1];
    assert.equal(await read(), "0");
    isOurs = true;
    assert.equal(await read(), "1");
  });
});
