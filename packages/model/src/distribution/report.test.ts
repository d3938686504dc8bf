/** Reports of replicas, as they are read from the bus. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DistributionReport, decodeDistribution, encodeDistribution } from "./report.ts";

const report: DistributionReport = {
  ...{ replica: "xds-0", epoch: "e", position: 7, behind: ["p"] },
  answered: [
    [5, 2],
    [7, 1],
  ],
  objects: { "VirtualService/shop/web": { position: 6, reached: 1, waiting: 2 } },
  refusals: [
    {
      ...{ proxy: "p", typeUrl: "cds", resources: ["c"], objects: ["o"], message: "no" },
      ...{ position: 3, atMs: 4.5 },
    },
  ],
  findings: [{ object: "o", message: "m" }],
};

const wrong: readonly (readonly [string, object, RegExp])[] = [
  ["a position that is no number", { position: "7" }, /position/],
  ["an answer that is no pair", { answered: [[5]] }, /no pair of numbers/],
  ["an answer of three", { answered: [[5, 2, 1]] }, /no pair of numbers/],
  ["an answer that is no list", { answered: [5] }, /no pair of numbers/],
  ["an answer of texts", { answered: [["5", 2]] }, /answered/],
  ["an object without its reach", { objects: { a: { position: 1 } } }, /objects/],
  ["a refusal without a proxy", { refusals: [{ ...report.refusals[0], proxy: undefined }] }, /refusals/],
  ["a finding that is a text", { findings: ["o"] }, /findings/],
];

describe("a report of a replica", () => {
  it("is read as it was written", () => assert.deepEqual(decodeDistribution(encodeDistribution(report)), report));
  for (const [name, change, message] of wrong)
    it(`is refused with ${name}`, () => {
      const value = new TextEncoder().encode(JSON.stringify({ ...report, ...change }));
      assert.throws(() => decodeDistribution(value), message);
    });
});
