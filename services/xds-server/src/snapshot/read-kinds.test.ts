/**
 * The table of kinds that are read (`kindUses`) against the queries: a query over a kind that is not declared does not compile, and a
 * declared kind that no query reads any more is found here.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { routeKinds } from "@flotilla/gateway-api";
import { kindUses } from "@flotilla/kinds";

const root = join(import.meta.dirname, "..");
const sources = globSync("{snapshot,generate}/**/*.ts", { cwd: root })
  .filter((file) => !file.endsWith(".test.ts"))
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");

/** How indexes and queries name the kind they read. */
const named = new Set([
  ...[...sources.matchAll(/(?:\bkind: |byNamespace(?:<\w+>)?\(|\.(?:config|all)(?:<\w+>)?\()"(\w+)"/g)].map(
    ([, kind]) => kind,
  ),
  ...[...sources.matchAll(/kind: "(Secret)" \| "(ConfigMap)"/g)].flatMap(([, ...kinds]) => kinds),
  ...routeKinds,
  // Read by keys of their own.
  "MeshConfig",
  "MeshNetworks",
]);

describe("the kinds that xds-server reads", () => {
  for (const [kind, { by }] of Object.entries(kindUses))
    if ((by as readonly string[]).includes("xds-server"))
      it(`${kind} is read by a query`, () => assert.ok(named.has(kind), `no query reads ${kind}`));
});
