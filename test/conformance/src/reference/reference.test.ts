import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kinds } from "./kinds.ts";
import { classify, classifyReference, referenceFailures, titles } from "./reference.ts";

test("each name has one class; entries that do not hold are named", () => {
  const names = ["A", "B", "C", "D"];
  const found = classify(names, new Set(["A", "B"]), { B: "honoured meanwhile", C: "a reason" }, { GONE: "no name" });
  assert.deepEqual(found, {
    ...{ honoured: ["A", "B"], notApplicable: ["B", "C"], missing: [], unclassified: ["D"], wrong: ["B", "GONE"] },
  });
});

test("docs/migrating.md has the counts", async () => {
  const page = readFileSync(new URL("../../../../docs/migrating.md", import.meta.url), "utf8");
  const reference = await classifyReference("/nowhere");
  for (const kind of kinds) {
    const { honoured, notApplicable, missing } = reference[kind];
    const row = `| ${titles[kind]} | ${honoured.length} | ${notApplicable.length} | ${missing.length} |`;
    assert.ok(page.includes(row), row);
  }
});

test("every name of istiod is classified by what the code honours, and the floors hold", async () => {
  const reference = await classifyReference("/nowhere");
  assert.deepEqual(referenceFailures(reference, undefined), []);
  assert.ok(reference.environment.honoured.includes("PILOT_DEBOUNCE_AFTER"));
  assert.ok(reference.environment.honoured.includes("GRPC_KEEPALIVE_INTERVAL"));
  assert.ok(reference.flags.honoured.includes("--grpcAddr"));
  assert.ok(reference.flags.honoured.includes("--tls-min-version"));
  assert.ok(reference.pages.honoured.includes("/debug/syncz"));
  assert.ok(reference.metrics.honoured.includes("pilot_xds_pushes"));
  assert.match(
    String(referenceFailures(reference, { metrics: 1_000 })),
    /\d+ metrics are honoured, under the floor of 1000/,
  );
});
