import assert from "node:assert/strict";
import { test } from "node:test";
import { type Config, compareByAge } from "@flotilla/model";
import { aConfig } from "../testing/mesh.ts";
import { RowChanges, type RowKey } from "./row-index.ts";

const key = "row" as RowKey;
const [old, middle, young] = ["a@1", "b@2", "c@3"].map((name) => aConfig("Sidecar", "shop", name, {})) as [
  Config,
  Config,
  Config,
];

/** The object before, and the object now. */
type Replacement = readonly [Config | undefined, Config | undefined];

function rowAfter(before: readonly Config[], replacements: readonly Replacement[]) {
  const changes = new RowChanges();
  for (const [gone, fresh] of replacements) changes.replace(key, gone, fresh);
  const rows = new Map(changes.rows(() => before));
  return rows.has(key) ? (rows.get(key) ?? "empty") : "as it was";
}

const edited = { ...middle };

const cases: readonly { name: string; replacements: readonly Replacement[]; want: unknown }[] = [
  {
    name: "what is new stands in order of age",
    replacements: [
      [undefined, young],
      [undefined, old],
    ],
    want: [old, middle, young],
  },
  { name: "what is replaced keeps its place", replacements: [[middle, edited]], want: [edited] },
  { name: "what is removed leaves an empty row", replacements: [[middle, undefined]], want: "empty" },
  {
    name: "what comes and goes in one group was never there",
    replacements: [
      [undefined, old],
      [old, undefined],
    ],
    want: "as it was",
  },
  {
    name: "an object that returns is where it was",
    replacements: [
      [middle, undefined],
      [undefined, middle],
    ],
    want: "as it was",
  },
  {
    name: "of two edits in one group the last holds",
    replacements: [
      [middle, old],
      [old, edited],
    ],
    want: [edited],
  },
];

for (const { name, replacements, want } of cases)
  test(name, () => assert.deepEqual(rowAfter([middle], replacements), want));

test("a row is in order of age, however many objects are new at once", () => {
  const aged = Array.from({ length: 80 }, (_, index) =>
    aConfig("Sidecar", "shop", `s${index}@${(index * 37) % 80}`, {}),
  );
  const byAge = (a: Config, b: Config) => compareByAge(a, b);
  for (const count of [1, 5, 60]) {
    const [before, fresh] = [aged.slice(count).sort(byAge), aged.slice(0, count)];
    const row = rowAfter(
      before,
      fresh.map((one) => [undefined, one]),
    );
    assert.deepEqual(row, [...aged].sort(byAge), `${count} new`);
  }
});
