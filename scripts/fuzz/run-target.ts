/** Runs one target on inputs until its time or their number is over: no error but the promised ones, no slow input, memory flat. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Material, mutate, randomOf } from "./mutate.ts";

export interface FuzzTarget extends Material {
  readonly name: string;
  readonly run: (input: Buffer) => unknown;
  /** Errors that the function promises. */
  readonly isPromised: (error: unknown) => boolean;
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
}

/** CPU of this thread, so that a busy machine counts for nothing. */
const maxStepMs = 100;
const maxGrowthBytes = 48 * 1024 * 1024;
/** A pause of the collector is not the input's: the fastest of so many runs counts. */
const confirmations = 3;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export async function runTarget(target: FuzzTarget, { seed, seconds, maxInputs }: FuzzLimits): Promise<FuzzReport> {
  const random = randomOf(seed);
  const endsAt = performance.now() + seconds * 1_000;
  let slowestMs = 0;
  let heapBytes: number | undefined;
  let inputs = 0;
  for (; inputs < maxInputs && performance.now() < endsAt; inputs++) {
    const input = target.corpus[inputs] ?? mutate(target, random);
    const startedUs = cpuUs();
    const reason = await reasonAgainst(target, input);
    if (reason !== undefined) return { inputs, slowestMs, failure: { reason, input } };
    const tookMs = (cpuUs() - startedUs) / 1_000;
    if (tookMs > maxStepMs && (await fastestMs(target, input)) > maxStepMs)
      return { inputs, slowestMs: tookMs, failure: { reason: `takes ${Math.round(tookMs)} ms`, input } };
    slowestMs = Math.max(slowestMs, Math.min(tookMs, maxStepMs));
    // What is compiled and cached on the way is there by now.
    if (inputs === Math.min(1_000, maxInputs >> 1)) heapBytes = heapNow();
  }
  const grownBytes = heapBytes === undefined ? 0 : heapNow() - heapBytes;
  const isFlat = grownBytes <= maxGrowthBytes;
  const failure = isFlat ? undefined : { reason: `${grownBytes} bytes stay`, input: Buffer.alloc(0) };
  return { inputs, slowestMs, failure };
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

function heapNow(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
