/** Vitals of a process while a bench runs: loaded before it by `--import`, this module adds a line of JSON to VITALS_FILE twice a second. */
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

export interface Vitals {
  readonly atMs: number;
  /** Of this process, since it began. */
  readonly cpuMs: number;
  /** The longest time that the event loop did not come round, since the last line. */
  readonly stallMs: number;
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly rssBytes: number;
}

const everyMs = 500;
const file = process.env["VITALS_FILE"];
if (file !== undefined) {
  const loop = monitorEventLoopDelay({ resolution: 5 });
  loop.enable();
  setInterval(() => {
    const { user, system } = process.cpuUsage();
    const { heapUsed, external, rss } = process.memoryUsage();
    const line: Vitals = {
      atMs: Date.now(),
      cpuMs: (user + system) / 1_000,
      stallMs: loop.max / 1e6,
      ...{ heapBytes: heapUsed, externalBytes: external, rssBytes: rss },
    };
    loop.reset();
    appendFileSync(file, `${JSON.stringify(line)}\n`);
  }, everyMs).unref();
}
