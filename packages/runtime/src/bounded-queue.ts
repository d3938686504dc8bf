/** A bounded queue: when full, it makes the writer wait or refuses the item; nothing is dropped in silence. One reader. */
import { RuntimeError } from "./errors.ts";

/** A queue of bounded length between any writers and one reader, which iterates it. */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  #items: T[] = [];
  #state: { readonly is: "open" } | { readonly is: "closed"; readonly failure?: unknown } = { is: "open" };
  #reader: (() => void) | undefined;
  #writers: (() => void)[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  /** False when it is full or closed: the caller decides what to merge, refuse or count. */
  offer(item: T): boolean {
    if (this.#state.is === "closed" || this.#items.length >= this.#capacity) return false;
    this.#items.push(item);
    this.#reader?.();
    return true;
  }

  /** Waits while it is full. @throws RuntimeError QUEUE_CLOSED; the reason of `stop` */
  async put(item: T, stop?: AbortSignal): Promise<void> {
    while (!this.offer(item)) {
      stop?.throwIfAborted();
      if (this.#state.is === "closed") throw new RuntimeError("QUEUE_CLOSED", "the reader of this queue has ended");
      const { promise, resolve } = Promise.withResolvers<void>();
      const onAbort = () => resolve();
      this.#writers.push(resolve);
      stop?.addEventListener("abort", onAbort, { once: true });
      await promise;
      stop?.removeEventListener("abort", onAbort);
      this.#writers = this.#writers.filter((writer) => writer !== resolve);
    }
  }

  /** The reader gets what is still in it and then the end, or `failure` as an exception. */
  close(failure?: unknown): void {
    if (this.#state.is === "closed") return;
    this.#state = failure === undefined ? { is: "closed" } : { is: "closed", failure };
    this.#reader?.();
    for (const writer of this.#writers) writer();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    try {
      for (;;) {
        const items = this.#items;
        this.#items = [];
        for (const writer of this.#writers) writer();
        yield* items;
        if (this.#items.length > 0) continue;
        if (this.#state.is === "closed") {
          if ("failure" in this.#state) throw this.#state.failure;
          return;
        }
        await this.#arrival();
      }
    } finally {
      this.close();
    }
  }

  async #arrival(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reader = resolve;
    await promise;
    this.#reader = undefined;
  }
}
