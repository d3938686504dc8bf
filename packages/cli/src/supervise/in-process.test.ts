/** A service within this process: how its end is reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startInProcess } from "./in-process.ts";

test("a service that cannot start has ended with its reason, has no process of its own and is not ready", async () => {
  const run = await startInProcess({
    name: "webhook",
    env: { HEALTH_PORT: "no number" },
    healthUrl: "http://127.0.0.1:1",
  });
  assert.match(await run.exited, /HEALTH_PORT/);
  assert.equal(run.pid, undefined);
  assert.equal(await run.isReady(), false);
  await run.stop();
  await run.kill();
});
