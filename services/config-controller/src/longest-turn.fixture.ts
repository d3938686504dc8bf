/**
 * The longest turn of the event loop, in CPU time of this thread: others wait for that long, whatever else the machine does.
 */
export class LongestTurn {
  #longestMs = 0;
  #isOver = false;

  /** Until `end`. */
  begin(): void {
    let before = process.threadCpuUsage();
    const look = (): void => {
      const { user, system } = process.threadCpuUsage(before);
      this.#longestMs = Math.max(this.#longestMs, (user + system) / 1_000);
      before = process.threadCpuUsage();
      if (!this.#isOver) setImmediate(look);
    };
    setImmediate(look);
  }

  /** In milliseconds. */
  end(): number {
    this.#isOver = true;
    return this.#longestMs;
  }
}
