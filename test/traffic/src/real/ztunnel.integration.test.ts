/**
 * A real ztunnel in each of two captured pods, of one network and of two: what it takes of the control plane, and what it makes of it. It runs
 * where ZTUNNEL_BIN names the binary.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runInNamespace, whyNoNamespace } from "./redirected/namespace.ts";

interface Outcome {
  readonly name: string;
  readonly failure?: string;
}

/** Why the test cannot run; undefined where it can. */
function obstacle(): string | undefined {
  const binary = process.env["ZTUNNEL_BIN"];
  if (binary === undefined) return "ZTUNNEL_BIN names no binary: ztunnel was NOT tested";
  return existsSync(binary) ? whyNoNamespace() : `ZTUNNEL_BIN=${binary} does not exist: ztunnel was NOT tested`;
}

const reason = obstacle();
if (reason !== undefined) console.warn(`      ${reason}`);

for (const [script, what] of [
  [new URL("ztunnel/run.ts", import.meta.url), "real ztunnels in captured pods"],
  [new URL("ztunnel/networks-run.ts", import.meta.url), "real ztunnels of two clusters, joined by a real Envoy"],
] as const)
  test(what, { skip: reason ?? false }, async (context) => {
    const output = await runInNamespace(fileURLToPath(script), []);
    const lines = output.split("\n");
    const outcomes = lines.flatMap((line) => (line.startsWith('{"name"') ? [JSON.parse(line) as Outcome] : []));
    assert.ok(outcomes.length > 0, output);
    for (const line of lines) if (line.startsWith("enforced after")) console.log(`      ${line}`);
    for (const { name, failure } of outcomes) await context.test(name, () => assert.equal(failure, undefined));
  });
