/** Labels by the versions that clients state: a text from outside must not become a series for ever. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics } from "@flotilla/runtime";
import { createStreamMetrics } from "./stream-metrics.ts";

function counting() {
  const metrics = createMetrics();
  const { connected } = createStreamMetrics(metrics);
  const labels = async () =>
    Object.fromEntries(
      [...(await metrics.text()).matchAll(/^pilot_xds\{version="([^"]+)"\} (\d+)$/gm)].map(([, version, count]) => [
        version,
        Number(count),
      ]),
    );
  return { connected, labels };
}

describe("labels by stated versions", () => {
  it("are a hundred at most: the next version counts as other, until one has left", async () => {
    const { connected, labels } = counting();
    for (let at = 0; at < 100; at++) connected(`1.${at}.0`, 1);
    connected("2.0.0", 1);
    connected("2.1.0", 1);
    connected("1.0.0", 1);
    const found = await labels();
    assert.equal(Object.keys(found).length, 101);
    assert.deepEqual([found["other"], found["1.0.0"], found["2.0.0"]], [2, 2, undefined]);
    for (const gone of ["1.1.0", "1.2.0"]) connected(gone, -1);
    connected("2.2.0", 1);
    assert.equal((await labels())["2.2.0"], 1);
  });

  it("leave with their last stream, also those that were counted as other", async () => {
    const { connected, labels } = counting();
    const versions = Array.from({ length: 103 }, (_, at) => `1.${at}.0`);
    for (const version of versions) connected(version, 1);
    for (const version of versions) connected(version, -1);
    assert.deepEqual(await labels(), {});
  });

  for (const stated of ["x".repeat(65), "a b", 'a"b', "", "-1"])
    it(`are other for what is no version: ${stated.slice(0, 10)}`, async () => {
      const { connected, labels } = counting();
      connected(stated, 1);
      assert.deepEqual(await labels(), { other: 1 });
    });
});
