/**
 * Lag of the event loop under the names of prom-client, whose own monitor wakes the process a hundred times a second: idle services would
 * spend a quarter of their CPU on it.
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { Gauge, type Registry } from "prom-client";
import { busyInterval } from "./busy-interval.ts";

/** Begins the names of all figures. */
export const loopLagName = "nodejs_eventloop_lag_";

/** A stall shorter than this is seen by chance, and one that begins while the loop is quiet where it is shorter than a second. */
const lookMs = 100;

type Figure = readonly [name: string, help: string, ns: (lags: RecordableHistogram) => number];

const figures: readonly Figure[] = [
  ["min", "The minimum recorded event loop delay.", ({ min }) => min],
  ["max", "The maximum recorded event loop delay.", ({ max }) => max],
  ["mean", "The mean of the recorded event loop delays.", ({ mean }) => mean],
  ["stddev", "The standard deviation of the recorded event loop delays.", ({ stddev }) => stddev],
  ["p50", "The 50th percentile of the recorded event loop delays.", (lags) => lags.percentile(50)],
  ["p90", "The 90th percentile of the recorded event loop delays.", (lags) => lags.percentile(90)],
  ["p99", "The 99th percentile of the recorded event loop delays.", (lags) => lags.percentile(99)],
];

/** Declares how late timers run: since the last reading, which begins anew. */
export function declareLoopLag(registry: Registry): void {
  const lags = createHistogram();
  // One nanosecond is the least that the histogram takes.
  busyInterval(({ lateMs }) => lags.record(Math.max(1, Math.round(lateMs * 1e6))), lookMs);
  let reading: readonly number[] = [];
  const read = (): void => {
    reading = lags.count === 0 ? figures.map(() => 0) : figures.map(([, , ns]) => ns(lags) / 1e9);
    lags.reset();
  };
  const last = new Gauge({
    name: `${loopLagName}seconds`,
    help: "Lag of event loop in seconds.",
    registers: [registry],
    collect: () => {
      read();
      const sinceMs = performance.now();
      setImmediate(() => last.set((performance.now() - sinceMs) / 1e3));
    },
  });
  figures.forEach(([name, help], index) => {
    const gauge: Gauge = new Gauge({
      name: `${loopLagName}${name}_seconds`,
      help,
      registers: [registry],
      collect: () => gauge.set(reading[index] ?? 0),
    });
  });
}
