/** The state of the bus and of ignored values on the readiness page and in the metrics. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createMetrics, noopLogger } from "@flotilla/runtime";
import { connectWithHealth } from "./connect-with-health.ts";
import { SetAside } from "./set-aside.ts";

it("the bus is a condition while it is away, and ignored values are named and counted", async () => {
  const conditions: (readonly [string, string | undefined])[] = [];
  const health = { setCondition: (name: string, reason?: string) => void conditions.push([name, reason]) };
  const metrics = createMetrics();
  const setAside = new SetAside({ log: noopLogger, nowMs: () => 0 });
  const warned: string[] = [];
  const log = { ...noopLogger, warn: (event: string) => void warned.push(event) };
  const options = { url: "embedded:with-health", seal: undefined, publisher: "p", log, health, metrics, setAside };
  const stop = new AbortController();
  await using bus = await connectWithHealth(options as never, stop.signal);
  assert.deepEqual(conditions, [
    ["values", undefined],
    ["bus", "waiting for embedded:with-health"],
    ["bus", undefined],
  ]);
  assert.deepEqual(warned, [], "one process trusts itself");
  bus.setAside.note("a", new Error("no JSON"));
  bus.setAside.note("a", new Error("no JSON"));
  assert.deepEqual(conditions.at(-1), ["values", "1 ignored: a (no JSON)"]);
  const text = await metrics.text();
  assert.match(text, /^flotilla_values_set_aside(?:\{.*\})? 1$/m);
  assert.match(text, /^flotilla_values_set_aside_total(?:\{.*\})? 2$/m);
  // A bus that answers ends with its owner, who has values to publish still.
  stop.abort();
  assert.deepEqual(await bus.publish([]), []);
});

it("the condition names servers without users and files", async () => {
  const named: (string | undefined)[] = [];
  const health = { setCondition: (name: string, reason?: string) => void (name === "bus" && named.push(reason)) };
  const url = "nats://user:secret@one.example:4222?nkey=%2Fkeys%2Fa.nkey,tls://two.example:4222?ca=/ca.crt";
  const stop = AbortSignal.abort(new Error("enough"));
  const options = { url, seal: undefined, publisher: "p", log: noopLogger, health, metrics: createMetrics() };
  await assert.rejects(connectWithHealth(options as never, stop));
  assert.equal(named[0], "waiting for nats://one.example:4222,tls://two.example:4222");
});
