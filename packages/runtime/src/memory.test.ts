/** When memory is given back: after growth, and only while there is little to do. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type MemoryProbe, releaseMemory, releaseWhenQuiet } from "./memory.ts";

const mib = 2 ** 20;

/** One look a second at a process as it is then. */
interface Look {
  readonly residentMb: number;
  readonly busy?: number;
  readonly heapMb?: number;
}

interface Case {
  readonly name: string;
  readonly looks: readonly Look[];
  readonly pauseMs?: number;
  /** RSS after each time that memory is given back. */
  readonly leftMb?: number;
  /** The seconds in which memory is given back. */
  readonly releases: readonly number[];
}

const seconds = (count: number, residentMb: number, more: Partial<Look> = {}) =>
  Array.from({ length: count }, (): Look => ({ residentMb, ...more }));

const cases: readonly Case[] = [
  {
    name: "what the start took, once there is little to do",
    looks: [...seconds(4, 150), ...seconds(3, 100)],
    releases: [3],
  },
  {
    name: "nothing while there is much to do",
    looks: [...seconds(6, 150, { busy: 0.5 }), ...seconds(3, 150), ...seconds(3, 100)],
    releases: [8],
  },
  {
    name: "growth by 32 MB or more",
    looks: [...seconds(4, 150), ...seconds(4, 131), ...seconds(1, 132), ...seconds(3, 100)],
    releases: [3, 8],
  },
  {
    name: "growth by a quarter or more",
    looks: [...seconds(4, 450), ...seconds(3, 249), ...seconds(1, 250), ...seconds(3, 200)],
    leftMb: 200,
    releases: [3, 7],
  },
  {
    name: "growth since memory was at its lowest",
    looks: [...seconds(4, 150), ...seconds(1, 60), ...seconds(1, 93), ...seconds(3, 100)],
    releases: [3, 5],
  },
  {
    name: "next after a hundred times as long as it took at the earliest",
    looks: seconds(20, 150),
    pauseMs: 50,
    releases: [3, 8, 13, 18],
  },
  { name: "nothing of a large heap", looks: seconds(8, 900, { heapMb: 600 }), releases: [] },
];

/** The seconds in which memory was given back. */
async function releasesOf({ looks, pauseMs = 0, leftMb = 100 }: Case): Promise<readonly number[]> {
  const stop = new AbortController();
  const released: number[] = [];
  let [second, pausesMs, left] = [-1, 0, false];
  const probe: MemoryProbe = {
    bytes: () => {
      if (left) {
        left = false;
        return { resident: leftMb * mib, heapUsed: 0 };
      }
      second++;
      if (second === looks.length - 1) stop.abort();
      const { residentMb = 0, heapMb = 50 } = looks[second] ?? {};
      return { resident: residentMb * mib, heapUsed: heapMb * mib };
    },
    busyShare: () => looks[second]?.busy ?? 0.01,
    nowMs: () => Math.max(0, second) * 1_000 + pausesMs,
    wait: async () => undefined,
  };
  const release = () => {
    released.push(second);
    [left, pausesMs] = [true, pausesMs + pauseMs];
  };
  await releaseWhenQuiet(release, stop.signal, probe);
  return released;
}

describe("a quiet process gives back", () => {
  for (const one of cases)
    it(one.name, async () => {
      assert.deepEqual(await releasesOf(one), one.releases);
    });
});

it("memory of garbage goes back to the system", () => {
  let garbage: object[] | undefined = Array.from({ length: 400_000 }, (_, index) => ({ index, text: `${index}` }));
  assert.equal(garbage.length, 400_000);
  const before = process.memoryUsage().heapUsed;
  garbage = undefined;
  releaseMemory();
  assert.ok(process.memoryUsage().heapUsed < before - 10 * mib);
});
