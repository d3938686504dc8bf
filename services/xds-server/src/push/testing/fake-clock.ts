/** Time that a test moves. */
import type { PushClock } from "../push-queue.ts";

export class FakeClock implements PushClock {
  #now = 0;
  #worked = 0;
  #tasks: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #order = 0;

  readonly now = (): number => this.#now;
  readonly worked = (): number => this.#worked;
  readonly soon = (run: () => void): void => void this.#add(0, run);
  readonly after = (ms: number, run: () => void): { cancel(): void } => this.#add(ms, run);

  /** Work that other tasks see as none of their time. */
  work(ms: number): void {
    this.#worked += ms;
  }

  /** Work that takes time. */
  spend(ms: number): void {
    this.#now += ms;
  }

  /** Runs what is due within `ms`, promises in between included. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const next = this.#tasks.sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined || next.at > end) break;
      this.#tasks.shift();
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = Math.max(this.#now, end);
  }

  #add(ms: number, run: () => void): { cancel(): void } {
    const task = { at: this.#now + ms, order: this.#order++, run };
    this.#tasks.push(task);
    const cancel = (): void => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
    return { cancel };
  }
}

/** Promises that are resolved have run their continuations. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
