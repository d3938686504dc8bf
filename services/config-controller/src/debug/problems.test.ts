import assert from "node:assert/strict";
import { it } from "node:test";
import { foreignKind } from "@flotilla/sources";
import type { ConfigSource } from "../watch/config-source.ts";
import { listIgnored, listProblems } from "./problems.ts";

const problem = (object: string) => ({ file: "a.yaml", line: 1, object, reason: "is wrong" });
const source = (name: string, problems: readonly object[], ignored?: ReadonlyMap<string, number>) =>
  ({
    name,
    problems: () => problems,
    ...(ignored !== undefined && { ignored: () => ignored }),
  }) as unknown as ConfigSource;

it("problems are those of sources, of conflicts, and of the whole", () => {
  const key = { kind: "Gateway", namespace: "shop", name: "a" };
  const view = {
    conflicts: () => [{ key, winner: "api", ignored: ["directory", "kubernetes"] }],
    problems: () => [{ object: "MeshConfig", field: "x", reason: "is odd" }],
  };
  const conflict = (of: string) => ({
    ...{ source: of, file: "", line: 0, object: "Gateway/shop/a" },
    reason: `of ${of} is not in force: it is taken from api`,
  });
  assert.deepEqual(
    listProblems([source("api", []), source("directory", [problem("x"), problem("y")])], view as never),
    [
      { source: "directory", ...problem("x") },
      { source: "directory", ...problem("y") },
      conflict("directory"),
      conflict("kubernetes"),
      { source: "view", file: "", line: 0, object: "MeshConfig", field: "x", reason: "is odd" },
    ],
  );
  assert.deepEqual(listProblems([], { conflicts: () => [], problems: () => [] } as never), []);
});

it("kinds that mean nothing are counted by source, in order of their names", () => {
  const text = (apiVersion: string, kind: string) => foreignKind.write({ apiVersion, kind });
  const ignored = new Map([
    [text("v1", "Pod"), 2],
    [text("apps/v1", "Deployment"), 3],
    [text("apps/v1", "Pod"), 1],
  ]);
  assert.deepEqual(listIgnored([source("api", []), source("directory", [], ignored)]), [
    { source: "directory", apiVersion: "apps/v1", kind: "Deployment", count: 3 },
    { source: "directory", apiVersion: "apps/v1", kind: "Pod", count: 1 },
    { source: "directory", apiVersion: "v1", kind: "Pod", count: 2 },
  ]);
});
