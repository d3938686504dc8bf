/** Costs of a flood to others: requests of an honest client while it goes on, and the memory of the attacked process. */
import { readFileSync } from "node:fs";

export interface FloodMeasure<T> {
  readonly result: T;
  /** Of requests that began while the flood went on, in milliseconds. */
  readonly answeredMs: readonly number[];
  /** The largest resident set of the process meanwhile, less that before, in MiB. */
  readonly grownMib: number;
}

export interface Beside<T> {
  /** Of the attacked process. */
  readonly pid: number;
  /** Goes on at least until `answered` resolves where it can. */
  readonly flood: (answered: Promise<void>) => Promise<T>;
  /** A request of another client; rejects when it is not answered as it should be. */
  readonly ask: () => Promise<void>;
  /** Requests that have to be answered before a flood may end. */
  readonly atLeast: number;
}

const sampleMs = 10;

/** One request after the other until the flood has ended. @throws what `ask` and `flood` reject with */
export async function measureBeside<T>({ pid, flood, ask, atLeast }: Beside<T>): Promise<FloodMeasure<T>> {
  const before = residentMib(pid);
  let largest = before;
  const timer = setInterval(() => {
    largest = Math.max(largest, residentMib(pid));
  }, sampleMs);
  const answered = Promise.withResolvers<void>();
  const answeredMs: number[] = [];
  let isOver = false;
  const flooding = flood(answered.promise).finally(() => {
    isOver = true;
  });
  flooding.catch(() => undefined);
  try {
    do {
      const since = performance.now();
      await ask();
      answeredMs.push(performance.now() - since);
      if (answeredMs.length >= atLeast) answered.resolve();
    } while (!isOver || answeredMs.length < atLeast);
    return { result: await flooding, answeredMs, grownMib: largest - before };
  } finally {
    answered.resolve();
    clearInterval(timer);
  }
}

/** The resident set of the process, in MiB. */
export function residentMib(pid: number): number {
  const [, kib = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}
