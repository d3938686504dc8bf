/**
 * Targets side by side in threads. The input that is tried stands in memory that the thread shares, so that one that never ends, or that ends the
 * thread, is named too.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { delay } from "@flotilla/runtime";
import { type FuzzLimits, type FuzzReport, type FuzzTarget, runTarget } from "./run-target.ts";

export interface Budget {
  /** For all targets together. */
  readonly seconds: number;
  readonly threads: number;
  /** Of each target. */
  readonly maxInputs: number;
  readonly seed: number;
  /** Without a next input for so long, the last one does not end. */
  readonly maxSilenceMs?: number;
}

interface Task {
  readonly name: string;
  readonly limits: FuzzLimits;
}

interface ThreadData {
  /** Exports `fuzzTargets`. */
  readonly targetsUrl: string;
  readonly shared: SharedArrayBuffer;
}

/** How many inputs were tried, and the length of the last one, before its bytes. */
const headBytes = 8;
const sharedBytes = 64 * 1024;

/** Calls `onReport` as each target ends. Those that are slow begin last, and have what time is left. */
export async function runSideBySide(
  targets: readonly Pick<FuzzTarget, "name" | "isSlow">[],
  targetsUrl: string,
  { seconds, threads, maxInputs, seed, maxSilenceMs = 60_000 }: Budget,
  onReport: (name: string, report: FuzzReport) => void,
): Promise<void> {
  const endsAt = performance.now() + seconds * 1_000;
  const waiting = [...targets.filter(({ isSlow }) => isSlow !== true), ...targets.filter(({ isSlow }) => isSlow)];
  let open = waiting.length;
  const runSome = async (): Promise<void> => {
    let thread: FuzzThread | undefined;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const left = Math.max(1, (endsAt - performance.now()) / 1_000);
      const limits = { seconds: Math.min(left, (left * threads) / open), maxInputs, seed };
      thread ??= new FuzzThread(targetsUrl, maxSilenceMs);
      const report = await thread.run({ name: next.name, limits });
      open--;
      onReport(next.name, report);
      if (report.failure === undefined) continue;
      await thread.end();
      thread = undefined;
    }
    await thread?.end();
  };
  await Promise.all(Array.from({ length: threads }, runSome));
}

class FuzzThread {
  readonly #shared = new SharedArrayBuffer(headBytes + sharedBytes);
  readonly #worker: Worker;
  readonly #maxSilenceMs: number;

  constructor(targetsUrl: string, maxSilenceMs: number) {
    const data: ThreadData = { targetsUrl, shared: this.#shared };
    this.#worker = new Worker(new URL(import.meta.url), { workerData: data });
    this.#maxSilenceMs = maxSilenceMs;
  }

  async run(task: Task): Promise<FuzzReport> {
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<FuzzReport>();
    const onMessage = (report: FuzzReport): void => resolve(withBuffers(report));
    const onError = (error: unknown): void =>
      resolve(this.#failed(`ended the thread: ${error instanceof Error ? error.stack : String(error)}`));
    this.#worker.on("message", onMessage).on("error", onError);
    this.#worker.postMessage(task);
    const report = await Promise.race([promise, this.#silence(over.signal)]);
    over.abort();
    this.#worker.off("message", onMessage).off("error", onError);
    return report;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Resolves only when no further input was tried for too long. */
  async #silence(stop: AbortSignal): Promise<FuzzReport> {
    const [tried] = headOf(this.#shared);
    // Until the first input the thread loads its targets.
    for (let last = 0; !stop.aborted && (last === 0 || last !== tried[0]); await delay(this.#maxSilenceMs, stop))
      last = tried[0] ?? 0;
    return this.#failed(`does not end within ${this.#maxSilenceMs} ms`);
  }

  #failed(reason: string): FuzzReport {
    const [head] = headOf(this.#shared);
    const input = Buffer.from(Buffer.from(this.#shared, headBytes, Math.min(head[1] ?? 0, sharedBytes)));
    return { inputs: head[0] ?? 0, slowestMs: 0, failure: { reason, input }, reached: [], functions: 0 };
  }
}

function headOf(shared: SharedArrayBuffer): readonly [Int32Array, Uint8Array] {
  return [new Int32Array(shared, 0, 2), new Uint8Array(shared, headBytes)];
}

/** Between threads a Buffer becomes a plain array of bytes. */
function withBuffers(report: FuzzReport): FuzzReport {
  const { failure, reached } = report;
  return {
    ...report,
    failure: failure === undefined ? undefined : { ...failure, input: Buffer.from(failure.input) },
    reached: reached.map((input) => Buffer.from(input)),
  };
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const { targetsUrl, shared } = workerData as ThreadData;
  const { fuzzTargets } = (await import(targetsUrl)) as { readonly fuzzTargets: readonly FuzzTarget[] };
  const [head, bytes] = headOf(shared);
  port.on("message", async ({ name, limits }: Task) => {
    const target = fuzzTargets.find((one) => one.name === name);
    if (target === undefined) throw new Error(`no target ${name}`);
    const run = (input: Buffer): unknown => {
      bytes.set(input.subarray(0, sharedBytes));
      head[1] = input.length;
      Atomics.add(head, 0, 1);
      return target.run(input);
    };
    port.postMessage(await runTarget({ ...target, run }, limits));
  });
}
