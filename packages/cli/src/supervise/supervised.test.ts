import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { type Run, Supervised, type SupervisionEvent } from "./supervised.ts";

const policy = { firstMs: 5, maxMs: 20, steadyMs: 60_000, maxFailures: 3, withinMs: 60_000 };

interface FakeRun extends Run {
  /** Ends it by itself. */
  crash(reason: string): void;
}

function fakeRun(pid: number, isReady = true): FakeRun {
  const { promise: exited, resolve } = Promise.withResolvers<string>();
  const end = (reason: string) => async () => resolve(reason);
  return { pid, exited, isReady: async () => isReady, stop: end("stopped"), kill: end("killed"), crash: resolve };
}

/** Supervises fake runs with the numbers 1, 2, …; `begin` may fail. */
function supervise(begin: (pid: number) => FakeRun, failurePolicy = { everyMs: 1, forMs: 5 }) {
  const runs: FakeRun[] = [begin(1)];
  const events: SupervisionEvent[] = [];
  const start = async () => {
    const run = begin(runs.length + 1);
    runs.push(run);
    return run;
  };
  const [first] = runs as [FakeRun];
  const supervised = new Supervised({
    name: "ca",
    first,
    start,
    policy,
    failurePolicy,
    onEvent: (event) => events.push(event),
  });
  return { supervised, runs, events };
}

const soon = (what: string) => ({ withinMs: 30_000, what });

describe("a supervised process", () => {
  it("is started again when it ends, with the reason and the count of restarts", async () => {
    const { supervised, runs, events } = supervise((pid) => fakeRun(pid));
    await until(() => supervised.state.kind === "ready", soon("the first run"));
    runs[0]?.crash("signal SIGKILL");
    await until(() => supervised.run?.pid === 2 && supervised.state.kind === "ready", soon("the second run"));
    assert.equal(supervised.restarts, 1);
    assert.equal(supervised.lastEnd?.reason, "signal SIGKILL");
    assert.deepEqual(events, [
      { kind: "ended", name: "ca", reason: "signal SIGKILL", restarts: 0, afterMs: 5 },
      { kind: "started", name: "ca", pid: 2, restarts: 1 },
    ]);
    await supervised[Symbol.asyncDispose]();
    assert.equal(supervised.state.kind, "over");
    assert.equal(runs.length, 2);
  });

  it("that runs and fails for good is ended and started again; one that fails for a moment is left alone", async () => {
    const failures = ["disk full", undefined, "disk full", undefined];
    const { supervised, runs } = supervise((pid) => ({
      ...fakeRun(pid),
      failure: async () => (pid === 2 ? failures.shift() : pid === 1 ? "no stream can be written" : undefined),
    }));
    await until(() => supervised.run?.pid === 2, soon("the second run"));
    assert.equal(supervised.lastEnd?.reason, "restarted since it failed: no stream can be written");
    assert.equal(await runs[0]?.exited, "stopped");
    await until(() => failures.length === 0, soon("the second run to be asked"));
    await supervised[Symbol.asyncDispose]();
    assert.deepEqual([supervised.restarts, runs.length], [1, 2]);
  });

  it("that ends again and again without getting ready is given up with the last reason", async () => {
    const { supervised, runs } = supervise((pid) => {
      const run = fakeRun(pid, false);
      run.crash(`exit code 1, failure ${pid}`);
      return run;
    });
    await assert.rejects(supervised.ended, {
      code: "CLI_SERVICE_ENDED",
      message: "[CLI_SERVICE_ENDED] ca ended 3 times within 60 s without getting ready: exit code 1, failure 3",
    });
    assert.equal(runs.length, 3);
    await supervised[Symbol.asyncDispose]();
  });

  it("with a mistake in its settings is not started again", async () => {
    const { supervised, runs } = supervise((pid) => fakeRun(pid, false));
    runs[0]?.crash('exit code 1, [SETTINGS_INVALID] LOG_LEVEL="loud"');
    await assert.rejects(supervised.ended, {
      code: "CLI_USAGE",
      message: '[CLI_USAGE] ca cannot start: [SETTINGS_INVALID] LOG_LEVEL="loud"',
    });
    assert.equal(runs.length, 1);
  });

  it("that cannot be started counts as one that ended", async () => {
    const { supervised, runs } = supervise((pid) => {
      if (pid > 1) throw new Error("port 4222 is in use");
      return fakeRun(pid, false);
    });
    runs[0]?.crash("signal SIGKILL");
    await assert.rejects(supervised.ended, /ended 3 times within 60 s without getting ready: port 4222 is in use/);
  });

  it("is not started again once it is disposed of or killed", async () => {
    for (const end of ["kill", Symbol.asyncDispose] as const) {
      const { supervised, runs, events } = supervise((pid) => fakeRun(pid));
      await supervised[end]();
      assert.equal(await runs[0]?.exited, end === "kill" ? "killed" : "stopped");
      assert.deepEqual([runs.length, events, supervised.run], [1, [], undefined]);
    }
  });

  it("that is disposed of while it waits to be started stays ended", async () => {
    const slow = { ...policy, firstMs: 60_000, maxMs: 60_000 };
    const run = fakeRun(1);
    const start = () => Promise.reject(new Error("not to be started"));
    const supervised = new Supervised({ name: "ca", first: run, start, policy: slow, onEvent: () => undefined });
    run.crash("exit code 1");
    await until(() => supervised.state.kind === "waiting", soon("the wait"));
    await supervised[Symbol.asyncDispose]();
    assert.equal(supervised.restarts, 0);
  });
});
