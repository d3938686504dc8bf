import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseRules } from "@flotilla/xds/compare";
import { mergeCapture } from "./merge-capture.ts";
import type { Capture } from "./scenario.ts";

const capture = (type: string, resources: Readonly<Record<string, readonly number[]>>): Capture =>
  new Map([[type, new Map(Object.entries(resources).map(([name, list]) => [name, { name, list: [...list] }]))]]);
const rules = parseRules("unordered eds/list");

describe("a new recording", () => {
  const cases: readonly {
    readonly name: string;
    readonly before: Capture;
    readonly after: Capture;
    readonly changed: number;
    readonly merged: Capture;
  }[] = [
    {
      name: "keeps what is the same in another order",
      before: capture("eds", { a: [1, 2] }),
      after: capture("eds", { a: [2, 1] }),
      changed: 0,
      merged: capture("eds", { a: [1, 2] }),
    },
    {
      name: "takes what is different, new and gone",
      before: capture("cds", { a: [1, 2], b: [1], same: [1] }),
      after: capture("cds", { a: [2, 1], c: [1], same: [1] }),
      changed: 3,
      merged: capture("cds", { a: [2, 1], c: [1], same: [1] }),
    },
    {
      name: "counts a type that is answered with nothing now",
      before: new Map(),
      after: capture("sds", {}),
      changed: 1,
      merged: capture("sds", {}),
    },
    {
      name: "drops a type that is not answered any more",
      before: capture("ecds", { a: [1] }),
      after: new Map(),
      changed: 1,
      merged: new Map(),
    },
  ];
  for (const { name, before, after, changed, merged } of cases) {
    it(name, () => {
      const found = mergeCapture(before, after, rules);
      assert.deepEqual(found.capture, merged);
      assert.equal(found.changed, changed);
    });
  }
});
