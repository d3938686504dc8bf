import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { endWithLauncher, untilSignal } from "./signals.ts";

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

  describe("of a command that does not stop by itself", () => {
    const listening = () => process.listeners("disconnect");
    /** The listeners that the command adds where a process started it with a channel, or without one. */
    const added = (connected: boolean) => {
      const before = listening();
      const own = Object.getOwnPropertyDescriptor(process, "connected");
      Object.defineProperty(process, "connected", { value: connected, configurable: true, writable: true });
      try {
        endWithLauncher();
      } finally {
        if (own === undefined) Reflect.deleteProperty(process, "connected");
        else Object.defineProperty(process, "connected", own);
      }
      const found = listening().filter((one) => !before.includes(one));
      for (const one of found) process.off("disconnect", one as () => void);
      return found as readonly (() => void)[];
    };

    it("come by the end of its channel, unless the command listens for signals itself", (t) => {
      const codes: unknown[] = [];
      t.mock.method(process, "exit", (code: unknown) => void codes.push(code));
      const [onEnd, ...others] = added(true);
      assert.equal(others.length, 0);
      const own = process.listeners("SIGTERM");
      for (const one of own) process.off("SIGTERM", one);
      onEnd?.();
      const requests = untilSignal({});
      onEnd?.();
      requests[Symbol.dispose]();
      for (const one of own) process.on("SIGTERM", one);
      assert.deepEqual(codes, [143]);
    });
    it("do not come where it has no channel", () => assert.deepEqual(added(false), []));
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
