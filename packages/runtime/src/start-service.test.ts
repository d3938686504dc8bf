import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger } from "./logger.ts";
import { type Service, startService } from "./start-service.ts";
import { aborted, orAborted } from "./wait.ts";

const settings = { logLevel: "silent", healthHost: "127.0.0.1", healthPort: 0, answer: 42 } as const;
const options = { name: "example", version: "1.2.3", settings, log: noopLogger };
type Example = Service<typeof settings>;

describe("a service", () => {
  it("has its settings and an open page, and is released when it has ended", async () => {
    let url = "";
    await startService(
      options,
      async ({ settings: { answer }, health }: Example) => {
        assert.equal(answer, 42);
        url = health.url;
        health.markReady();
        const ready = await fetch(`${url}/ready`);
        assert.equal(((await ready.json()) as { readonly service: string }).service, "example");
      },
      new AbortController().signal,
    );
    await assert.rejects(fetch(`${url}/ready`), TypeError);
  });

  it("ends without a failure when what it waits for ends with the reason of the signal", async () => {
    const stop = new AbortController();
    const running = startService(
      options,
      async (service) => {
        service.inBackground(orAborted(new Promise<never>(() => undefined), service.stop));
        stop.abort(new Error("stopped by SIGTERM"));
        await orAborted(new Promise<never>(() => undefined), service.stop);
      },
      stop.signal,
    );
    await running;
  });

  it("ends with the failure of a part, which ends the others first", async () => {
    const { promise: otherEnded, resolve } = Promise.withResolvers<unknown>();
    const failing = Promise.withResolvers<never>();
    const running = startService(
      options,
      async ({ stop, inBackground }) => {
        inBackground(failing.promise);
        inBackground(aborted(stop).then(() => resolve(stop.reason)));
        failing.reject(new Error("no port"));
        await aborted(stop);
      },
      new AbortController().signal,
    );
    await assert.rejects(running, /no port/);
    assert.match(String(await otherEnded), /no port/);
  });

  it("runs parts until all have ended, and fails with the first that fails", async () => {
    const ended: string[] = [];
    const run = (last: () => Promise<void>) =>
      startService(
        options,
        async ({ runParts }) => {
          await runParts([Promise.resolve().then(() => void ended.push("first")), undefined, last()]);
          ended.push("all");
        },
        new AbortController().signal,
      );
    await run(() => Promise.resolve());
    assert.deepEqual(ended, ["first", "all"]);
    await assert.rejects(
      run(() => Promise.reject(new Error("no bus"))),
      /no bus/,
    );
    assert.deepEqual(ended, ["first", "all", "first"]);
  });

  it("fails with the failure of its wiring, and ends the parts that run already", async () => {
    const { promise: partEnded, resolve } = Promise.withResolvers<void>();
    const running = startService(
      options,
      ({ stop, inBackground }) => {
        inBackground(aborted(stop).then(resolve));
        return Promise.reject(new Error("no root"));
      },
      new AbortController().signal,
    );
    await assert.rejects(running, /no root/);
    await partEnded;
  });

  it("begins work again that failed, and counts it", async () => {
    let attempts = 0;
    await startService(
      options,
      async ({ keepRunning, metrics }) => {
        await keepRunning("reports", () => (++attempts < 2 ? Promise.reject(new Error("away")) : Promise.resolve()));
        assert.match(await metrics.text(), /flotilla_background_failures_total\{work="reports"\} 1/);
      },
      new AbortController().signal,
    );
    assert.equal(attempts, 2);
  });

  it("shows how long the start took once the service is ready, and the heap under Go's names", async () => {
    await startService(
      { ...options, processMetrics: true },
      async ({ health, metrics }) => {
        assert.doesNotMatch(await metrics.text(), /^startup_duration_seconds [1-9.]/m);
        health.markReady();
        const text = await metrics.text();
        assert.ok(Number(/^startup_duration_seconds (\S+)$/m.exec(text)?.[1]) > 0);
        assert.ok(Number(/^go_memstats_heap_inuse_bytes (\S+)$/m.exec(text)?.[1]) > 1_000_000);
      },
      new AbortController().signal,
    );
  });

  it("is not ready from the request to stop on, while its work ends", async () => {
    const stop = new AbortController();
    await startService(
      options,
      async ({ health, stop: asked }) => {
        health.markReady();
        stop.abort(new Error("stopped by SIGTERM"));
        await aborted(asked);
        const page = await fetch(`${health.url}/ready`);
        assert.equal(page.status, 503);
        assert.equal(((await page.json()) as { readonly state: string }).state, "stopping");
      },
      stop.signal,
    );
  });

  it("counts the conditions of its readiness page among its metrics as long as they hold", async () => {
    await startService(
      options,
      async ({ health, metrics }) => {
        health.setCondition("bus", "away: refused");
        assert.match(await metrics.text(), /^flotilla_conditions\{condition="bus"\} 1$/m);
        health.setCondition("bus", undefined);
        health.setCondition("store", "away");
        assert.match(await metrics.text(), /^flotilla_conditions\{condition="store"\} 1$/m);
        assert.doesNotMatch(await metrics.text(), /condition="bus"/);
      },
      new AbortController().signal,
    );
  });

  it("logs what fails while it ends", async () => {
    const warnings: unknown[] = [];
    const stop = new AbortController();
    const late = Promise.withResolvers<never>();
    await startService(
      { ...options, log: { ...noopLogger, warn: (event, fields) => warnings.push(event, fields?.["error"]) } },
      async ({ inBackground }) => {
        inBackground(late.promise);
        stop.abort(new Error("stopped by SIGTERM"));
        late.reject(new Error("cannot close"));
        await late.promise.catch(() => undefined);
      },
      stop.signal,
    );
    assert.deepEqual(warnings.map(String), ["part failed during shutdown", "Error: cannot close"]);
  });
});
