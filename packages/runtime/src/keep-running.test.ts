import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FailingWork, keepRunning, keepTrying } from "./keep-running.ts";
import { noopLogger } from "./logger.ts";
import { createMetrics } from "./metrics.ts";
import { Readiness } from "./readiness.ts";
import { aborted, delay, until } from "./wait.ts";

const options = (warnings: unknown[] = []) => ({
  what: "reports",
  log: { ...noopLogger, warn: (_: string, fields?: unknown) => warnings.push(fields) },
  random: () => 0,
  firstMs: 1,
  maxMs: 2,
});

describe("work that is kept running", () => {
  it("begins again when it fails, and the same failure is logged once", async () => {
    let attempts = 0;
    const warnings: unknown[] = [];
    const work = async (): Promise<void> => {
      attempts++;
      if (attempts < 5) throw new Error(attempts < 4 ? "no answer" : "another");
    };
    await keepRunning(work, options(warnings), new AbortController().signal);
    assert.deepEqual([attempts, warnings.length], [5, 2]);
  });

  it("each failure is counted by name and shown until an attempt goes on for a while, and readiness stays", async () => {
    const [metrics, readiness] = [createMetrics(), new Readiness()];
    readiness.markReady();
    const details = () => readiness.report().conditions.map(({ name, detail }) => `${name}: ${detail}`);
    const seen: (readonly string[])[] = [];
    const stop = new AbortController();
    const work = async (attempt: AbortSignal): Promise<void> => {
      seen.push(details());
      if (seen.length < 3) throw new Error("no answer");
      await aborted(attempt);
    };
    const failures = new FailingWork(metrics, readiness);
    const running = keepRunning(work, { ...options(), failures, steadyMs: 20 }, stop.signal);
    await until(() => seen.length === 3 && details().length === 0, { withinMs: 10_000, what: "the recovery" });
    const failing = ['background work "reports": fails and is tried again: no answer'];
    assert.deepEqual(seen, [[], failing, failing]);
    assert.equal(readiness.report().ready, true);
    assert.match(await metrics.text(), /^flotilla_background_failures_total\{work="reports"\} 2$/m);
    stop.abort();
    await running;
  });

  it("work that ends well after failures has recovered", async () => {
    const readiness = new Readiness();
    let attempts = 0;
    const work = async (): Promise<string> => {
      attempts++;
      if (attempts < 3) throw new Error("no answer");
      return "done";
    };
    const failures = new FailingWork(createMetrics(), readiness);
    assert.equal(await keepTrying(work, { ...options(), failures }, new AbortController().signal), "done");
    assert.deepEqual(readiness.report().conditions, []);
  });

  it("a failure after a recovery is logged again, and waits for the first time only", async () => {
    const warnings: unknown[] = [];
    let attempts = 0;
    const work = async (): Promise<void> => {
      attempts++;
      if (attempts === 2) await delay(50);
      if (attempts < 4) throw new Error("no answer");
    };
    await keepRunning(work, { ...options(warnings), steadyMs: 5 }, new AbortController().signal);
    assert.deepEqual([attempts, warnings.length], [4, 2]);
  });

  it("parts beside the one that failed end before the next attempt", async () => {
    const attempts: AbortSignal[] = [];
    const work = async (attempt: AbortSignal): Promise<void> => {
      attempts.push(attempt);
      if (attempts.length === 1) throw new Error("no answer");
    };
    await keepRunning(work, options(), new AbortController().signal);
    assert.deepEqual(
      attempts.map(({ aborted }) => aborted),
      [true, false],
    );
  });

  it("a mistake in the code is not hidden", async () => {
    const work = () => Promise.reject(new TypeError("x is not a function"));
    await assert.rejects(keepRunning(work, options(), new AbortController().signal), TypeError);
  });

  it("ends when it is stopped between two attempts", async () => {
    const stop = new AbortController();
    const work = (): Promise<void> => {
      setImmediate(() => stop.abort());
      return Promise.reject(new Error("no answer"));
    };
    await keepRunning(work, { ...options(), firstMs: 60_000, maxMs: 60_000 }, stop.signal);
  });
});

describe("work that is tried until it succeeds", () => {
  it("resolves to its result", async () => {
    let attempts = 0;
    const open = async (): Promise<string> => {
      if (++attempts < 3) throw new Error("no answer");
      return "bucket";
    };
    assert.equal(await keepTrying(open, options(), new AbortController().signal), "bucket");
    assert.equal(attempts, 3);
  });

  it("rejects with the reason of the stop", async () => {
    const stop = new AbortController();
    const reason = new Error("stopped");
    const work = (): Promise<void> => {
      setImmediate(() => stop.abort(reason));
      return Promise.reject(new Error("no answer"));
    };
    const trying = keepTrying(work, { ...options(), firstMs: 60_000, maxMs: 60_000 }, stop.signal);
    await assert.rejects(trying, (error) => error === reason);
  });
});
