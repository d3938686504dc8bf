/** Time as this stage sees it, so that tests can turn it. */

export interface PushClock {
  /** Milliseconds; monotonic. */
  now(): number;
  /** After pending IO. */
  soon(task: () => void): void;
  after(ms: number, task: () => void): { cancel(): void };
}

export const systemClock: PushClock = {
  now: () => performance.now(),
  soon: (task) => void setImmediate(task),
  after: (ms, task) => {
    // What waits for time alone keeps no process.
    const timer = setTimeout(task, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
