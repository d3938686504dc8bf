import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Deadlines, systemClock } from "./push-queue.ts";
import { FakeClock } from "./testing/fake-clock.ts";

function setUp() {
  const clock = new FakeClock();
  const late: string[] = [];
  const deadlines = new Deadlines<string>({ clock, limitMs: 100, onLate: (key) => late.push(`${key} ${clock.now()}`) });
  return { clock, late, deadlines };
}

describe("deadlines", () => {
  it("call back once, at its time, for what is not done", async () => {
    const { clock, late, deadlines } = setUp();
    deadlines.begin("a");
    await clock.advance(30);
    deadlines.begin("b");
    deadlines.begin("c");
    await clock.advance(20);
    assert.equal(deadlines.done("b"), true);
    await clock.advance(1_000);
    assert.deepEqual(late, ["a 100", "c 130"]);
    assert.equal(deadlines.done("a"), false);
    assert.equal(deadlines.done("b"), false, "it is not under way any more");
  });

  it("report what was begun again after what was begun before", async () => {
    const { clock, late, deadlines } = setUp();
    deadlines.begin("a");
    await clock.advance(10);
    deadlines.begin("b");
    await clock.advance(10);
    deadlines.begin("a");
    await clock.advance(1_000);
    assert.deepEqual(late, ["b 110", "a 120"]);
  });

  it("begin anew with what is begun again", async () => {
    const { clock, late, deadlines } = setUp();
    deadlines.begin("a");
    await clock.advance(90);
    deadlines.begin("a");
    await clock.advance(90);
    assert.deepEqual(late, []);
    await clock.advance(10);
    assert.deepEqual(late, ["a 190"]);
  });
});

it("the time that the process has worked grows, also where Node does not know that of its threads", () => {
  const own = process.threadCpuUsage;
  const replace = (value: typeof own | undefined) => Object.assign(process, { threadCpuUsage: value });
  try {
    for (const known of [own, undefined]) {
      replace(known);
      const before = systemClock.worked();
      assert.ok(before >= 0 && systemClock.worked() >= before);
    }
  } finally {
    replace(own);
  }
});
