import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { untilSignal } from "./signals.ts";

describe("requests to stop", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    it(`come by ${signal}`, async () => {
      using requests = untilSignal({});
      assert.equal(requests.stop.aborted, false);
      process.emit(signal, signal);
      await requests.fired;
      assert.equal((requests.stop.reason as Error).message, `stopped by ${signal}`);
    });

  it("come by the end of the launcher", async () => {
    using requests = untilSignal({});
    process.emit("disconnect");
    await requests.fired;
    assert.equal((requests.stop.reason as Error).message, "stopped by the end of its launcher");
  });

  it("end the process at once the second time, with the number of the signal", (t) => {
    const codes: unknown[] = [];
    t.mock.method(process, "exit", (code: unknown) => void codes.push(code));
    using requests = untilSignal({});
    process.emit("SIGTERM", "SIGTERM");
    assert.deepEqual(codes, []);
    process.emit("SIGINT", "SIGINT");
    assert.deepEqual([codes, requests.stop.aborted], [[130], true]);
  });

  it("are not listened for any more when disposed of", () => {
    const counts = () => ["SIGINT", "SIGTERM", "SIGHUP", "disconnect"].map((name) => process.listenerCount(name));
    const before = counts();
    const requests = untilSignal({});
    assert.deepEqual(
      counts(),
      before.map((count) => count + 1),
    );
    requests[Symbol.dispose]();
    assert.deepEqual(counts(), before);
  });
});
