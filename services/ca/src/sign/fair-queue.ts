/**
 * Work waits in a line for each identity, and the lines take turns: a flood from one identity delays that identity. Work is
 * done in slices, so streams and probes are served in between.
 */
import { CaError } from "../errors.ts";

export interface FairQueueOptions {
  readonly maxPendingPerIdentity: number;
  readonly maxPending: number;
  /** How long the event loop may be held. */
  readonly sliceMs?: number;
}

type Job = () => void;

export class FairQueue {
  readonly #options: FairQueueOptions;
  /** In the order of their turns. */
  readonly #lines = new Map<string, Job[]>();
  #pending = 0;
  #isDraining = false;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get pending(): number {
    return this.#pending;
  }

  /** Resolves to the result of `work`, once its turn has come. @throws CaError CA_BUSY when the line is full. */
  run<T>(identity: string, work: () => T): Promise<T> {
    const { maxPending, maxPendingPerIdentity } = this.#options;
    const line = this.#lines.get(identity) ?? [];
    if (this.#pending >= maxPending || line.length >= maxPendingPerIdentity)
      return Promise.reject(
        new CaError("CA_BUSY", `${line.length} requests of ${identity} wait, ${this.#pending} altogether`),
      );
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    line.push(() => {
      try {
        resolve(work());
      } catch (error) {
        reject(error);
      }
    });
    this.#lines.set(identity, line);
    this.#pending++;
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    setImmediate(() => this.#drain());
  }

  #drain(): void {
    const until = performance.now() + (this.#options.sliceMs ?? 5);
    this.#isDraining = false;
    do {
      const next = this.#next();
      if (next === undefined) return;
      next();
    } while (performance.now() < until);
    if (this.#pending > 0) this.#schedule();
  }

  #next(): Job | undefined {
    const [first] = this.#lines;
    if (first === undefined) return undefined;
    const [identity, line] = first;
    const job = line.shift();
    this.#lines.delete(identity);
    if (line.length > 0) this.#lines.set(identity, line);
    this.#pending--;
    return job;
  }
}
