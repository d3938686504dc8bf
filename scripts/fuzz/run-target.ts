/**
 * Runs one target on inputs until its time or their number is over: no error but the promised ones, no slow input, memory flat. Inputs that
 * reach code which none before them reached are changed further.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CoverageGuide } from "./coverage.ts";
import { type Material, mutate, randomOf } from "./mutate.ts";

export interface FuzzTarget extends Material {
  readonly name: string;
  readonly run: (input: Buffer) => unknown;
  /** Errors that the function promises. */
  readonly isPromised: (error: unknown) => boolean;
  /** Begins last, with the time that the others left. */
  readonly isSlow?: boolean;
}

export interface FuzzLimits {
  readonly seed: number;
  readonly seconds: number;
  readonly maxInputs: number;
}

/** `failure`: what is wrong, with the input that shows it. */
export interface FuzzReport {
  readonly inputs: number;
  readonly slowestMs: number;
  readonly failure: { readonly reason: string; readonly input: Buffer } | undefined;
  /** Inputs that reached new code, in order; the functions that ran. */
  readonly reached: readonly Buffer[];
  readonly functions: number;
}

/** CPU of this thread, so that a busy machine counts for nothing. */
const maxStepMs = 100;
const maxGrowthBytes = 48 * 1024 * 1024;
/** A pause of the collector is not the input's: the fastest of so many runs counts. */
const confirmations = 3;
/** Coverage is taken once for so many inputs: for more as long as nothing new is reached. */
const [leastBatch, mostBatch] = [125, 4_000];
/** Beyond so many kept inputs new ones are hardly chosen any more. */
const maxReached = 2_000;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export async function runTarget(target: FuzzTarget, { seed, seconds, maxInputs }: FuzzLimits): Promise<FuzzReport> {
  const random = randomOf(seed);
  const endsAt = performance.now() + seconds * 1_000;
  using guide = new CoverageGuide(isOurs);
  const material = { ...target, corpus: [...target.corpus] };
  const reached: Buffer[] = [];
  let [batch, batchInputs]: [Buffer[], number] = [[], leastBatch];
  let slowestMs = 0;
  let heapBytes: number | undefined;
  let inputs = 0;
  const report = (failure: FuzzReport["failure"]): FuzzReport => {
    return { inputs, slowestMs, failure, reached, functions: guide.functions };
  };
  guide.reset();
  for (; inputs < maxInputs && performance.now() < endsAt; inputs++) {
    const input = target.corpus[inputs] ?? mutate(material, random);
    batch.push(input);
    const startedUs = cpuUs();
    const reason = await reasonAgainst(target, input);
    if (reason !== undefined) return report({ reason, input });
    const tookMs = (cpuUs() - startedUs) / 1_000;
    if (tookMs > maxStepMs && (await fastestMs(target, input)) > maxStepMs)
      return report({ reason: `takes ${Math.round(tookMs)} ms`, input });
    slowestMs = Math.max(slowestMs, Math.min(tookMs, maxStepMs));
    // Code compiled and caches filled on the way are complete by now.
    if (inputs === Math.min(1_000, maxInputs >> 1)) heapBytes = await heapNow();
    const isKept = inputs + 1 === target.corpus.length;
    if (!isKept && batch.length < batchInputs) continue;
    // Code that the kept inputs reach is the start.
    const found = isKept && guide.reachedNew(true) ? [] : await thoseThatReach(target, batch, guide);
    reached.push(...found.slice(0, maxReached - reached.length));
    material.corpus.push(...found);
    [batch, batchInputs] = [[], found.length > 0 ? leastBatch : Math.min(mostBatch, 2 * batchInputs)];
  }
  // Up to 4,000 inputs wait there, which is more than at the first measurement.
  batch = [];
  const grownBytes = heapBytes === undefined ? 0 : (await heapNow()) - heapBytes;
  const isFlat = grownBytes <= maxGrowthBytes;
  return report(isFlat ? undefined : { reason: `${grownBytes} bytes stay`, input: Buffer.alloc(0) });
}

/** Not the fuzzer, nor packages of others. */
function isOurs(url: string): boolean {
  return /\/(?:packages|services)\//.test(url) && !url.includes("node_modules");
}

/** Those of some inputs, which have run, that reach what none before them reached. */
async function thoseThatReach(
  target: FuzzTarget,
  inputs: readonly Buffer[],
  guide: CoverageGuide,
): Promise<readonly Buffer[]> {
  const [only] = inputs;
  if (only === undefined || !guide.reachedNew(inputs.length === 1)) return [];
  if (inputs.length === 1) return [only];
  const found: Buffer[] = [];
  const half = inputs.length >> 1;
  for (const part of [inputs.slice(0, half), inputs.slice(half)]) {
    for (const input of part) await reasonAgainst(target, input);
    found.push(...(await thoseThatReach(target, part, guide)));
  }
  return found;
}

async function reasonAgainst({ run, isPromised }: FuzzTarget, input: Buffer): Promise<string | undefined> {
  try {
    const answer = run(input);
    if (answer instanceof Promise) await answer;
    return undefined;
  } catch (error) {
    if (isPromised(error)) return undefined;
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}

async function fastestMs(target: FuzzTarget, input: Buffer): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  for (let times = 0; times < confirmations; times++) {
    const startedUs = cpuUs();
    await reasonAgainst(target, input);
    fastest = Math.min(fastest, (cpuUs() - startedUs) / 1_000);
  }
  return fastest;
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/** Handles (such as zlib's) are given back in a later turn of the event loop, which inputs one after another never reach. */
async function heapNow(): Promise<number> {
  await nextTurn();
  collect();
  return process.memoryUsage().heapUsed;
}
