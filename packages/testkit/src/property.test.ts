import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkAsyncProperty, checkProperty, fc, propertyParameters } from "./index.ts";

const isSmall = (value: number): void => assert.ok(value < 10);
const failure = /Counterexample: \[10\][\s\S]*PROPERTY_SEED=-?\d+ PROPERTY_PATH=\d+(:\d+)*/;

describe("properties", () => {
  it("fail with the smallest input and the settings that try it again", async () => {
    assert.throws(() => checkProperty(fc.nat(), isSmall, { runs: 50 }), failure);
    await assert.rejects(
      checkAsyncProperty(fc.nat(), async (value) => isSmall(value), { runs: 50 }),
      failure,
    );
  });

  it("are tried with as many inputs as asked for", async () => {
    let [tried, triedLater] = [0, 0];
    checkProperty(fc.nat(), () => void tried++, { runs: 7 });
    await checkAsyncProperty(fc.nat(), async () => void triedLater++, { runs: 8 });
    assert.deepEqual([tried, triedLater], [7, 8]);
  });

  it("take seed, path and runs from the environment", () => {
    const runs = { runs: 5 };
    assert.deepEqual(propertyParameters({}, runs), { seed: 24, numRuns: 5 });
    const env = { PROPERTY_SEED: "-3", PROPERTY_PATH: "4:0", PROPERTY_RUNS: "1000" };
    assert.deepEqual(propertyParameters(env, runs), { seed: -3, numRuns: 1000, path: "4:0" });
    assert.deepEqual(propertyParameters({}, { runs: 1, shrinks: false }), { seed: 24, numRuns: 1, endOnFailure: true });
    const seeds = Array.from({ length: 8 }, () => propertyParameters({ PROPERTY_SEED: "random" }, runs).seed);
    assert.ok(new Set(seeds).size > 1 && seeds.every((seed) => Number.isInteger(seed) && seed >= 0));
    for (const name of ["PROPERTY_SEED", "PROPERTY_RUNS"])
      assert.throws(() => propertyParameters({ [name]: "many" }, runs), new RegExp(`${name}=many is no whole number`));
  });
});
