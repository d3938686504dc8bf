import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DebounceOptions, Debouncer } from "./change-pipeline.ts";
import type { Urgency } from "./push-queue.ts";
import { FakeClock } from "./testing/fake-clock.ts";

interface Offer {
  readonly at: number;
  readonly urgency?: Urgency;
}
/** When a batch left and how many changes were in it. */
type Batch = readonly [at: number, size: number, urgency?: Urgency];

interface Case {
  readonly name: string;
  readonly offers: readonly Offer[];
  readonly busyUntil?: number;
  /** Streams are busy from this moment on, from the beginning by default. */
  readonly busyFrom?: number;
  /** The work of the process for each batch. */
  readonly workMs?: number;
  /** Batches that left before this moment concerned no stream. */
  readonly idleUntil?: number;
  readonly batches: readonly Batch[];
}

const limits = { gapPerWork: 3, minGapMs: 10, maxGapMs: 100, urgentGapMs: 5 };
const every = (ms: number, count: number): readonly Offer[] =>
  Array.from({ length: count }, (_, i) => ({ at: i * ms }));

const cases: readonly Case[] = [
  { name: "a single change leaves at once", offers: [{ at: 3 }], batches: [[3, 1]] },
  {
    name: "changes far apart each leave at once",
    offers: [{ at: 0 }, { at: 500 }],
    batches: [
      [0, 1],
      [500, 1],
    ],
  },
  { name: "what comes together leaves together", offers: [{ at: 0 }, { at: 0 }, { at: 0 }], batches: [[0, 3]] },
  {
    name: "what follows a change merges until the gap is over",
    offers: [{ at: 0 }, { at: 2 }, { at: 4 }, { at: 9 }],
    batches: [
      [0, 1],
      [10, 3],
    ],
  },
  {
    name: "a batch that concerned no proxy holds nothing up",
    offers: [{ at: 0 }, { at: 2 }, { at: 3 }, { at: 4 }],
    idleUntil: 1,
    batches: [
      [0, 1],
      [2, 1],
      [12, 2],
    ],
  },
  {
    name: "under churn whose batches make little work the gap stays",
    offers: every(1, 35),
    workMs: 2,
    batches: [
      [0, 1],
      [10, 10],
      [20, 10],
      [30, 10],
      [40, 4],
    ],
  },
  {
    name: "under churn the gap is a multiple of the work",
    offers: every(1, 100),
    workMs: 10,
    batches: [
      [0, 1],
      [10, 10],
      [40, 30],
      [70, 30],
      [100, 29],
    ],
  },
  {
    name: "however much work there is the gap has a limit",
    offers: every(1, 250),
    workMs: 500,
    batches: [
      [0, 1],
      [10, 10],
      [110, 100],
      [210, 100],
      [310, 39],
    ],
  },
  {
    name: "after churn a quiet mesh is quick again",
    offers: [...every(1, 40), { at: 500 }, { at: 503 }, { at: 800 }],
    workMs: 10,
    batches: [
      [0, 1],
      [10, 10],
      [40, 29],
      [500, 1],
      [510, 1],
      [800, 1],
    ],
  },
  {
    name: "while streams are busy changes merge, for a limited time",
    offers: [{ at: 0 }, { at: 2 }, { at: 50 }],
    busyUntil: 1_000,
    batches: [[100, 3]],
  },
  {
    name: "after twice the gap of churn busy streams are looked at again after the shortest gap",
    offers: [...every(1, 40), { at: 190 }],
    ...{ workMs: 20, busyFrom: 180, busyUntil: 195 },
    batches: [
      [0, 1],
      [10, 10],
      [70, 29],
      [200, 1],
    ],
  },
  {
    name: "sooner after churn they are looked at again after a part of its gap",
    offers: [...every(1, 40), { at: 189 }],
    ...{ workMs: 20, busyFrom: 180, busyUntil: 195 },
    batches: [
      [0, 1],
      [10, 10],
      [70, 29],
      [214, 1],
    ],
  },
  {
    name: "an urgent change leaves almost at once and takes along what waits",
    offers: [{ at: 0 }, { at: 1 }, { at: 2, urgency: "urgent" }],
    batches: [
      [0, 1],
      [5, 2, "urgent"],
    ],
  },
  {
    name: "an urgent change does not wait for busy streams",
    offers: [{ at: 0, urgency: "urgent" }],
    busyUntil: 1_000,
    batches: [[0, 1, "urgent"]],
  },
];

describe("debounce", () => {
  for (const { name, offers, busyFrom = 0, busyUntil = 0, workMs = 0, idleUntil = 0, batches } of cases) {
    it(name, async () => {
      const clock = new FakeClock();
      const seen: Batch[] = [];
      const options: DebounceOptions<number> = {
        ...limits,
        clock,
        isBusy: () => clock.now() >= busyFrom && clock.now() < busyUntil,
        flush: (items, urgency) => {
          seen.push(urgency === "urgent" ? [clock.now(), items.length, urgency] : [clock.now(), items.length]);
          clock.work(workMs);
          return clock.now() >= idleUntil;
        },
      };
      using debouncer = new Debouncer(options);
      for (const { at, urgency = "normal" } of offers) {
        // Up to, but not into, the moment of the offer: what is due then comes after it.
        if (at > clock.now()) await clock.advance(at - clock.now() - 0.001);
        clock.spend(at - clock.now());
        debouncer.offer(at, urgency);
      }
      await clock.advance(1_000);
      assert.deepEqual(seen, batches);
      assert.equal(debouncer.waiting, 0);
    });
  }

  it("flush hands on the waiting changes once, and nothing where none wait", async () => {
    const clock = new FakeClock();
    const sizes: number[] = [];
    const flush = (items: readonly number[]): boolean => sizes.push(items.length) > 0;
    using debouncer = new Debouncer<number>({ ...limits, clock, isBusy: () => false, flush });
    debouncer.flushNow();
    assert.deepEqual(sizes, []);
    debouncer.offer(1, "normal");
    debouncer.flushNow();
    debouncer.flushNow();
    await clock.advance(1_000);
    assert.deepEqual(sizes, [1]);
  });

  it("the end drops waiting changes", async () => {
    const clock = new FakeClock();
    let flushes = 0;
    const debouncer = new Debouncer<number>({ ...limits, clock, isBusy: () => false, flush: () => ++flushes > 0 });
    debouncer.offer(1, "normal");
    debouncer[Symbol.dispose]();
    await clock.advance(1_000);
    assert.equal(flushes, 0);
  });
});
