/**
 * Answers the requests of one server one at a time, round robin over the addresses of their callers. After each the event loop is free for as long as
 * the request took: libuv accepts one connection per turn of the loop, so pages made turn after turn would delay each connection by a page.
 */

const maxWaitingOfAddress = 256;
const maxWaiting = 1_024;
/** A request that itself waits lets the next one start, in milliseconds. */
const turnMs = 50;
/** The next one follows a shorter request without a pause, in milliseconds. */
const shortMs = 2;

/** Lets the next request start. */
export type EndTurn = () => void;

/** Requests that wait, by the addresses of their callers. */
export class RequestQueue {
  /** The address that is next stands first. */
  readonly #waiting = new Map<string, ((end: EndTurn) => void)[]>();
  #count = 0;
  #isRunning = false;

  /** Resolves when the request may start; to undefined at once where too many wait. */
  enter(address: string): Promise<EndTurn | undefined> {
    const line = this.#waiting.get(address) ?? [];
    if (line.length >= maxWaitingOfAddress || this.#count >= maxWaiting) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<EndTurn>();
    line.push(resolve);
    this.#count++;
    this.#waiting.set(address, line);
    if (!this.#isRunning) this.#next();
    return promise;
  }

  #next(): void {
    const [first] = this.#waiting;
    this.#isRunning = first !== undefined;
    if (first === undefined) return;
    const [address, line] = first;
    this.#waiting.delete(address);
    const start = line.shift();
    this.#count--;
    if (line.length > 0) this.#waiting.set(address, line);
    const startedAt = performance.now();
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      clearTimeout(timer);
      const tookMs = performance.now() - startedAt;
      if (tookMs < shortMs) setImmediate(() => this.#next());
      else setTimeout(() => this.#next(), tookMs);
    };
    const timer = setTimeout(end, turnMs);
    start?.(end);
  }
}
