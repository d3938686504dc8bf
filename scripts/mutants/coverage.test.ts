/** Ranges of V8 that lie within each other become places that ran. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isRan, type RanRanges, ranRanges } from "./coverage.ts";

const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });

const cases: readonly {
  readonly name: string;
  readonly ranges: Parameters<typeof ranRanges>[0];
  readonly ran: RanRanges;
}[] = [
  { name: "no range", ranges: [], ran: [] },
  { name: "a module without functions", ranges: [range(0, 10, 1)], ran: [[0, 10]] },
  {
    name: "a function that was never called",
    ranges: [range(0, 100, 1), range(20, 60, 0)],
    ran: [
      [0, 20],
      [60, 100],
    ],
  },
  {
    name: "a branch that was not taken, and a function in it",
    ranges: [range(0, 100, 1), range(10, 90, 3), range(30, 50, 0), range(35, 40, 0)],
    ran: [
      [0, 30],
      [50, 100],
    ],
  },
  {
    name: "ranges that end at one place",
    ranges: [range(0, 50, 1), range(10, 50, 0), range(20, 50, 2)],
    ran: [
      [0, 10],
      [20, 50],
    ],
  },
];

describe("places that ran", () => {
  for (const { name, ranges, ran } of cases) it(name, () => assert.deepEqual(ranRanges(ranges), ran));
  it("end before the offset that closes them", () => {
    assert.deepEqual(
      [9, 10, 19, 20].map((at) => isRan([[10, 20]], at)),
      [false, true, true, false],
    );
  });
});
