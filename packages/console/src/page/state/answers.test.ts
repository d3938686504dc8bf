import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Answers, createAnswers } from "./answers.ts";
import { type Answer, type CallOptions, createFetchJson, type FetchJson } from "./fetch-json.ts";

interface Pending {
  readonly path: string;
  readonly stop: AbortSignal | undefined;
  answer(value: unknown): Promise<void>;
  fail(message: string): Promise<void>;
}

/** A store whose requests and timers the test moves. */
function controlled(): { answers: Answers; requests: Pending[]; elapse(ms: number): void } {
  const requests: Pending[] = [];
  const timers: { at: number; run: () => void }[] = [];
  let now = 0;
  const fetchJson: FetchJson = <T>(path: string, options: CallOptions = {}) =>
    new Promise<Answer<T>>((resolve, reject) => {
      options.stop?.addEventListener("abort", () => reject(new Error("aborted")));
      const settle = async (answer: unknown): Promise<void> => {
        resolve(answer as Answer<T>);
        await new Promise(setImmediate);
      };
      requests.push({
        ...{ path, stop: options.stop },
        answer: (value) => settle({ ok: true, value }),
        fail: (message) => settle({ ok: false, problem: { kind: "away", message, status: 503, causes: [] } }),
      });
    });
  const answers = createAnswers({
    fetchJson,
    now: () => now,
    later: (run, ms) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
  });
  const elapse = (ms: number): void => {
    now += ms;
    for (const timer of timers.filter(({ at }) => at <= now)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.run();
    }
  };
  return { answers, requests, elapse };
}

describe("answers", () => {
  it("are fetched again after a time, where one is given, until they are no longer watched", async () => {
    const { answers, requests, elapse } = controlled();
    const end = answers.watch("/a", [], 15_000);
    answers.watch("/b", []);
    for (const request of [...requests]) await request.answer("one");
    elapse(14_999);
    assert.equal(requests.length, 2);
    for (const [at, ms] of [1, 15_000].entries()) {
      elapse(ms);
      elapse(0);
      assert.deepEqual([requests.length, requests.at(-1)?.path], [3 + at, "/a"]);
      await requests.at(-1)?.answer("two");
    }
    end();
    elapse(60_000);
    assert.equal(requests.length, 4);
  });

  it("are fetched when they are watched, and once for several watchers", async () => {
    const { answers, requests } = controlled();
    const shown = answers.read<string>("/a");
    answers.watch("/a", ["fleet"]);
    answers.watch("/a", ["fleet"]);
    assert.equal(shown.value.isLoading, true);
    await requests[0]?.answer("one");
    assert.deepEqual([shown.value.value, shown.value.isLoading, requests.length], ["one", false, 1]);
  });

  it("are fetched again at most once a second, however many events come", async () => {
    const { answers, requests, elapse } = controlled();
    answers.watch("/a", ["fleet"]);
    await requests[0]?.answer("one");
    for (let i = 0; i < 50; i++) answers.invalidate("fleet");
    elapse(999);
    assert.equal(requests.length, 1);
    elapse(1);
    assert.equal(requests.length, 2);
    assert.equal(answers.read("/a").value.value, "one", "the old answer stays meanwhile");
    await requests[1]?.answer("two");
    assert.equal(answers.read("/a").value.value, "two");
  });

  it("of other topics stay, and unwatched ones wait until they are watched", async () => {
    const { answers, requests, elapse } = controlled();
    const leave = answers.watch("/a", ["fleet"]);
    await requests[0]?.answer("one");
    answers.invalidate("rejections");
    elapse(5000);
    assert.equal(requests.length, 1);
    leave();
    answers.invalidate("fleet");
    elapse(5000);
    assert.equal(requests.length, 1);
    answers.watch("/a", ["fleet"]);
    assert.equal(requests.length, 2);
  });

  it("stay when a later request fails, with the problem beside", async () => {
    const { answers, requests, elapse } = controlled();
    answers.watch("/a", []);
    await requests[0]?.answer("one");
    elapse(2000);
    answers.invalidate(undefined);
    elapse(0);
    await requests[1]?.fail("gives no answer");
    const { value, problem, isLoading } = answers.read("/a").value;
    assert.deepEqual([value, problem?.message, isLoading], ["one", "gives no answer", false]);
  });

  it("that take longer than the time between two events arrive, and are fetched once more", async () => {
    const { answers, requests, elapse } = controlled();
    answers.watch("/a", ["fleet"]);
    for (let i = 0; i < 5; i++) {
      elapse(4_000);
      answers.invalidate("fleet");
    }
    elapse(0);
    assert.deepEqual([requests.length, requests[0]?.stop?.aborted], [1, false]);
    await requests[0]?.answer("one");
    assert.equal(answers.read("/a").value.value, "one");
    elapse(0);
    assert.equal(requests.length, 2);
    await requests[1]?.answer("two");
    elapse(60_000);
    assert.deepEqual([requests.length, answers.read("/a").value.value], [2, "two"]);
  });

  it("that do not come within a minute are asked for again by the next event", async () => {
    const { answers, requests, elapse } = controlled();
    answers.watch("/a", ["fleet"]);
    elapse(59_999);
    answers.invalidate("fleet");
    elapse(0);
    assert.equal(requests.length, 1);
    elapse(1);
    answers.invalidate("fleet");
    elapse(0);
    assert.deepEqual([requests.length, requests[0]?.stop?.aborted], [2, true]);
    await requests[1]?.answer("two");
    assert.equal(answers.read("/a").value.value, "two");
  });

  it("that were overtaken by an event are not fetched for a screen that was left", async () => {
    const { answers, requests, elapse } = controlled();
    const leave = answers.watch("/a", ["fleet"]);
    answers.invalidate("fleet");
    leave();
    await new Promise(setImmediate);
    elapse(60_000);
    assert.equal(requests.length, 1);
    answers.watch("/a", ["fleet"]);
    assert.equal(requests.length, 2);
  });

  it("of a screen that was left are not waited for", async () => {
    const { answers, requests } = controlled();
    const leave = answers.watch("/a", []);
    leave();
    assert.equal(requests[0]?.stop?.aborted, true);
    await new Promise(setImmediate);
    answers.watch("/a", []);
    assert.equal(requests.length, 2);
  });

  it("of screens long left are evicted beyond 60, the oldest first, and those that are shown never", async () => {
    const { answers, requests } = controlled();
    answers.watch("/shown", []);
    for (const path of ["/left", ...Array.from({ length: 58 }, (_, i) => `/${i}`)]) answers.watch(path, [])();
    await requests[0]?.answer("one");
    await new Promise(setImmediate);
    const [shown, left, next] = ["/shown", "/left", "/0"].map((path) => answers.read(path));
    assert.equal(answers.read("/left"), left, "60 are kept");
    answers.read("/60");
    assert.equal(answers.read("/shown"), shown);
    assert.equal(answers.read("/0"), next);
    assert.notEqual(answers.read("/left"), left);
  });

  it("are forgotten for the next person", async () => {
    const { answers, requests } = controlled();
    answers.watch("/a", []);
    await requests[0]?.answer("one");
    answers.clear();
    assert.equal(answers.read("/a").value.value, undefined);
  });
});

describe("a call", () => {
  const problems = [
    { status: 401, kind: "signed-out" },
    { status: 404, kind: "missing" },
    { status: 422, kind: "refused" },
    { status: 503, kind: "away" },
    { status: 500, kind: "failed" },
  ] as const;
  for (const { status, kind } of problems)
    it(`that is answered with ${status} has a problem of the kind ${kind}`, async () => {
      const body = JSON.stringify({
        error: { code: "invalid", message: "why", causes: [{ field: "spec", message: "no" }] },
      });
      const answer = await createFetchJson(async () => new Response(body, { status }))("/a");
      assert.ok(!answer.ok);
      assert.deepEqual([answer.problem.kind, answer.problem.message, answer.problem.causes.length], [kind, "why", 1]);
    });

  it("without an answer is one for an unreachable control plane", async () => {
    const answer = await createFetchJson(() => Promise.reject(new TypeError("failed to fetch")))("/a");
    assert.ok(!answer.ok && answer.problem.kind === "away" && answer.problem.status === 0);
  });

  it("shows what a proxy in between answers", async () => {
    const answer = await createFetchJson(async () => new Response("bad gateway\n", { status: 502 }))("/a");
    assert.ok(!answer.ok && answer.problem.message === "bad gateway");
  });

  it("has an answer without a body", async () => {
    const answer = await createFetchJson(async () => new Response(null, { status: 204 }))("/a");
    assert.deepEqual(answer, { ok: true, value: undefined });
  });
});
