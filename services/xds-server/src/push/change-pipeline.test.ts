import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Batch, ChangePipeline, type Dependence } from "./change-pipeline.ts";
import type { Urgency } from "./push-queue.ts";
import { FakeClock } from "./testing/fake-clock.ts";

interface Put {
  readonly key: string;
  readonly value: number;
}

const dependences: Readonly<Record<string, Dependence>> = { endpoints: "nothing", workload: "deciding" };
const kindOf = ({ key }: Put): string => key.split("/")[0] ?? "";

function setUp(isBusy = (): boolean => false, isQueued = (): boolean => false) {
  const clock = new FakeClock();
  const batches: (Batch<Put> & { readonly at: number })[] = [];
  const held = new Map<string, number>();
  const pipeline = new ChangePipeline<Put>({
    clock,
    ...{ isBusy, isQueued },
    minGapMs: 10,
    maxGapMs: 100,
    urgentGapMs: 2,
    keyOf: ({ key }) => key,
    kindOf,
    dependsOn: (put) => dependences[kindOf(put)] ?? "everything",
    isDeciding: (put) => kindOf(put) === "policy",
    apply: (batch) => {
      batches.push({ ...batch, at: clock.now() });
      for (const { key, value } of batch.changes) held.set(key, value);
      return true;
    },
  });
  let position = 0;
  const offer = (key: string, value: number, urgency: Urgency = "normal", eventTimeMs = 0) =>
    pipeline.offer({
      ...{ changes: [{ key, value }], position: ++position },
      cause: { publisher: "p", epoch: "e", revision: 1, eventTimeMs, urgent: urgency === "urgent" },
    });
  const seen = () =>
    batches.map(({ at, changes, position: to }) => `${at}: ${changes.map(({ key }) => key).join(" ")} to ${to}`);
  return { clock, pipeline, offer, batches, held, seen };
}

describe("change pipeline", () => {
  it("a change of a quiet mesh is applied at once, what follows closely together", async () => {
    const { clock, offer, seen } = setUp();
    offer("route/a", 1);
    await clock.advance(1);
    offer("route/a", 2);
    offer("route/b", 1);
    await clock.advance(100);
    assert.deepEqual(seen(), ["0: route/a to 1", "10: route/a route/b to 3"]);
  });

  it("urgent changes overtake waiting ones, and the position waits for all before it", async () => {
    let isBusy = false;
    const { clock, offer, seen } = setUp(() => isBusy);
    offer("route/a", 1);
    await clock.advance(1);
    isBusy = true;
    offer("route/b", 1);
    offer("endpoints/x", 1, "urgent");
    await clock.advance(20);
    assert.deepEqual(seen(), ["0: route/a to 1", "1: endpoints/x to 1"]);
    isBusy = false;
    await clock.advance(100);
    assert.equal(seen().length, 3);
    assert.match(seen()[2] ?? "", /route\/b to 3$/);
  });

  it("workloads overtake what does not decide on them, and follow each other closely under churn", async () => {
    const { clock, offer, seen } = setUp();
    offer("route/a", 1);
    await clock.advance(1);
    offer("route/b", 1);
    offer("workload/x", 1);
    await clock.advance(1);
    offer("workload/y", 1);
    await clock.advance(3);
    assert.deepEqual(seen(), ["0: route/a to 1", "1: workload/x to 1", "3: workload/y to 1"]);
    await clock.advance(100);
    assert.deepEqual(seen().slice(3), ["10: route/b to 4"]);
  });

  it("workloads wait until all streams had their turn, but not for long, and lost endpoints do not", async () => {
    let isQueued = false;
    const { clock, offer, seen } = setUp(
      () => false,
      () => isQueued,
    );
    offer("workload/x", 1);
    await clock.advance(1);
    isQueued = true;
    offer("workload/y", 1);
    await clock.advance(30);
    assert.deepEqual(seen(), ["0: workload/x to 1"]);
    isQueued = false;
    await clock.advance(30);
    assert.match(seen()[1] ?? "", /workload\/y to 2$/);
    isQueued = true;
    offer("workload/z", 1);
    await clock.advance(1);
    offer("endpoints/x", 1, "urgent");
    await clock.advance(10);
    assert.match(seen()[2] ?? "", /workload\/z endpoints\/x to 4$/);
    offer("workload/z", 2);
    await clock.advance(120);
    assert.match(seen()[3] ?? "", /workload\/z to 5$/);
  });

  it("a workload waits for the policies that came before it, and so does all that follows of it", async () => {
    const { clock, offer, seen, held } = setUp();
    offer("route/a", 1);
    await clock.advance(1);
    offer("policy/p", 1);
    offer("workload/x", 1);
    offer("workload/x", 2);
    await clock.advance(100);
    assert.deepEqual(seen(), ["0: route/a to 1", "10: policy/p workload/x workload/x to 4"]);
    offer("workload/x", 3);
    await clock.advance(100);
    assert.equal(held.get("workload/x"), 3);
  });

  it("a change that was overtaken by a later one of its key is never applied", async () => {
    const { clock, offer, held } = setUp();
    offer("route/a", 1);
    await clock.advance(1);
    offer("endpoints/x", 1);
    offer("endpoints/x", 2, "urgent");
    offer("route/b", 1);
    await clock.advance(100);
    assert.deepEqual(
      [...held],
      [
        ["route/a", 1],
        ["endpoints/x", 2],
        ["route/b", 1],
      ],
    );
    offer("endpoints/x", 3);
    await clock.advance(100);
    assert.equal(held.get("endpoints/x"), 3);
  });

  it("an urgent change that depends on others takes them along", async () => {
    const { clock, offer, seen } = setUp();
    offer("route/a", 1);
    await clock.advance(1);
    offer("route/b", 1);
    offer("service/x", 1, "urgent");
    await clock.advance(5);
    assert.deepEqual(seen(), ["0: route/a to 1", "2: route/b service/x to 3"]);
  });

  it("reports the oldest event of each kind and how long the batch waited", async () => {
    const { clock, offer, batches } = setUp();
    offer("route/a", 1, "normal", 500);
    await clock.advance(4);
    offer("route/a", 2, "normal", 800);
    offer("service/b", 2, "normal", 700);
    offer("route/c", 2, "normal", 900);
    await clock.advance(100);
    assert.deepEqual(Object.fromEntries(batches[1]?.eventTimesMs ?? []), { route: 800, service: 700 });
    assert.equal(batches[1]?.waitedMs, 6);
  });

  it("flush leaves nothing waiting", () => {
    const { pipeline, offer, seen } = setUp();
    offer("route/a", 1);
    offer("endpoints/x", 1, "urgent");
    pipeline.flush();
    assert.deepEqual(seen(), ["0: endpoints/x to 0", "0: route/a to 2"]);
  });

  it("any order of urgent and other changes ends in the last value of each key, and the position never overstates", async () => {
    for (let seed = 1; seed <= 200; seed++) {
      let state = seed;
      const next = (n: number) => {
        state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
        return (state >> 8) % n;
      };
      const { clock, offer, batches, held } = setUp(() => next(3) === 0);
      const wanted = new Map<string, number>();
      const keys = ["endpoints/x", "endpoints/y", "route/a", "service/b"];
      const offeredAt: string[] = [];
      for (let i = 1; i <= 40; i++) {
        const key = keys[next(4)] ?? "";
        wanted.set(key, i);
        offeredAt.push(key);
        offer(key, i, next(3) === 0 ? "urgent" : "normal");
        await clock.advance(next(8));
        const applied = Math.max(0, ...batches.map(({ position }) => position));
        for (const [at, name] of offeredAt.slice(0, applied).entries())
          assert.ok((held.get(name) ?? 0) >= at + 1, `seed ${seed}: ${name} of position ${at + 1} at ${applied}`);
      }
      await clock.advance(1_000);
      assert.deepEqual(new Map([...held].sort()), new Map([...wanted].sort()), `seed ${seed}`);
      assert.equal(batches.at(-1)?.position, 40);
    }
  });
});
