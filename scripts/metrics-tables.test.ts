/** The table of metrics beside the code that declares them. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { metricsTables } from "./metrics-tables.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tables = await metricsTables();

test("every metric that the code declares is in the table", () => {
  const declares = /\bmetrics\s*\.(?:counter|gauge|histogram)\b/;
  const files = globSync("{packages,services}/*/src/**/*.ts", {
    cwd: root,
    exclude: ["**/*.test.ts", "**/node_modules/**"],
  });
  const texts = files.map((file) => readFileSync(join(root, file), "utf8")).filter((text) => declares.test(text));
  const names = texts.flatMap((text) => [...text.matchAll(/\bname: "([a-z][a-z_]+)"/g)].map(([, name]) => name));
  assert.ok(names.length > 60, `${names.length} metrics found`);
  const listed = new Set(Object.values(tables).flatMap((all) => all.map(({ name }) => name)));
  assert.deepEqual(
    names.filter((name) => name !== undefined && !listed.has(name)),
    [],
  );
});

test("a service declares no metric twice, and each has a help text", () => {
  for (const [service, metrics] of Object.entries(tables)) {
    const names = metrics.map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names, service);
    assert.deepEqual(
      metrics.filter(({ help }) => help === "").map(({ name }) => name),
      [],
    );
  }
});
