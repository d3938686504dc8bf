import assert from "node:assert/strict";
import { test } from "node:test";
import type { LabelSelector } from "../config/label-selector.ts";
import { discoverySelectors, isDiscovered } from "./discovery.ts";

const on: LabelSelector = { matchLabels: { mesh: "on" } };
const team: LabelSelector = {
  matchExpressions: [
    { key: "team", operator: "In", values: ["a", "b"] },
    { key: "off", operator: "DoesNotExist" },
  ],
};

const cases: readonly {
  readonly name: string;
  readonly selectors: readonly LabelSelector[];
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly expected: boolean;
}[] = [
  { name: "no selectors: everything", selectors: [], labels: undefined, expected: true },
  { name: "the first of two", selectors: [on, team], labels: { mesh: "on" }, expected: true },
  { name: "the second of two", selectors: [on, team], labels: { team: "b" }, expected: true },
  { name: "all parts of a selector have to hold", selectors: [team], labels: { team: "a", off: "1" }, expected: false },
  { name: "none of two", selectors: [on, team], labels: { mesh: "off" }, expected: false },
  { name: "an empty selector takes every namespace", selectors: [{}], labels: {}, expected: true },
  { name: "but none that does not exist", selectors: [{}], labels: undefined, expected: false },
  {
    name: "NotIn holds without the label",
    selectors: [{ matchExpressions: [{ key: "team", operator: "NotIn", values: ["a"] }] }],
    labels: {},
    expected: true,
  },
  {
    name: "by the name, which is a label of every namespace",
    selectors: [{ matchLabels: { "kubernetes.io/metadata.name": "shop" } }],
    labels: {},
    expected: true,
  },
];

for (const { name, selectors, labels, expected } of cases) {
  test(name, () => assert.equal(isDiscovered(selectors, "shop", labels), expected));
}

const wrong: readonly (readonly [unknown, string])[] = [
  [{ matchExpressions: [{ key: "team", operator: "Inn", values: ["a"] }] }, "matchExpressions[0].operator"],
  [{ matchExpressions: [{ key: "team", operator: "In", values: [] }] }, "matchExpressions[0].values"],
  [{ matchExpressions: [{ key: "team", operator: "Exists", values: ["a"] }] }, "matchExpressions[0].values"],
  [{ matchExpressions: [{ operator: "Exists" }] }, "matchExpressions[0].key"],
];

for (const [selector, field] of wrong) {
  test(`${JSON.stringify(selector)} is refused at ${field}`, () => {
    const read = discoverySelectors({ discoverySelectors: [on, selector] });
    assert.equal("field" in read ? read.field : "", `discoverySelectors[1].${field}`);
  });
}

test("a mesh without selectors has none", () => assert.deepEqual(discoverySelectors({}), { selectors: [] }));
