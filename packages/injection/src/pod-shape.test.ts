/** Resources of containers: quantities are texts or numbers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "./pod.ts";
import { checkPodShape } from "./pod-shape.ts";

const podOf = (cpu: unknown) =>
  ({ metadata: {}, spec: { containers: [{ name: "a", resources: { requests: { cpu } } }] } }) as unknown as Pod;

describe("resources of a container", () => {
  for (const cpu of ["100m", "", 2, 0.5]) it(`may be ${JSON.stringify(cpu)}`, () => checkPodShape(podOf(cpu)));
  for (const cpu of [true, null, {}, ["1"], Number.NaN])
    it(`may not be ${JSON.stringify(cpu)}`, () => {
      assert.throws(() => checkPodShape(podOf(cpu)), { code: "INJECT_BAD_POD" });
    });
});
