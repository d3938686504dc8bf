/**
 * Connections that are redirected to the proxy as in a pod, unnoticed by the workload: addresses of services, ports of undeclared
 * protocol, unknown destinations, and connections to the workload.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runInNamespace, whyNoNamespace } from "./redirected/namespace.ts";

interface Outcome {
  readonly name: string;
  readonly failure?: string;
}

const script = fileURLToPath(new URL("redirected/run.ts", import.meta.url));
const obstacle = whyNoNamespace();

for (const form of ["delta", "sotw"]) {
  test(`redirected connections over ${form}`, { skip: obstacle ?? false }, async (context) => {
    const output = await runInNamespace(script, [form]);
    const outcomes = output.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Outcome] : []));
    assert.ok(outcomes.length > 0, output);
    for (const { name, failure } of outcomes) await context.test(name, () => assert.equal(failure, undefined));
  });
}
