/** The list of served pages beside the code that registers them. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { byHand, type ServedPage, servedPages } from "./served-pages.ts";

const root = join(import.meta.dirname, "../..");
const ofProcess = ["GET /debug/caller", "GET /debug/settings", "PUT /debug/levels"];

/** Requests by their service that the code names where it registers them. */
function registeredByName(): readonly string[] {
  const files = globSync("services/*/src/**/*.ts", { cwd: root, exclude: ["**/*.test.ts", "**/testing/**"] });
  return files.flatMap((file) => {
    const code = readFileSync(join(root, file), "utf8");
    const named = [...code.matchAll(/\broute\(\s*"([A-Z]+)",\s*"([^"]+)"/g)].map(
      ([, method, path]) => `${method} ${path}`,
    );
    const shared = /\bserveProcessPages\(/.test(code) ? ofProcess : [];
    return [...named, ...shared].map((request) => `${file.split("/")[1]} ${request}`);
  });
}

const nameOf = ({ service, request }: ServedPage) => `${service} ${request}`;
const all = registeredByName();

test("every page that a service registers is listed", () => {
  const listed = new Set(servedPages().map(nameOf));
  assert.ok(all.length > 20, `${all.length} pages found`);
  assert.deepEqual(
    all.filter((request) => !listed.has(request)),
    [],
  );
});

test("pages that are listed by hand are registered", () => {
  for (const page of byHand) assert.ok(all.includes(nameOf(page)), nameOf(page));
});
