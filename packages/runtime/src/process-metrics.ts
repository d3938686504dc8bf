/** Figures of the process beside prom-client's own, by the names that dashboards of istiod ask for where they mean the same. */
import { getHeapStatistics, type HeapInfo } from "node:v8";
import { collectDefaultMetrics, Gauge, type Registry } from "prom-client";
import { declareLoopLag, loopLagName } from "./loop-lag.ts";

/** V8's heap under the names of Go's: both are managed by a collector, and the words mean the same. */
const heapGauges: readonly (readonly [name: string, help: string, value: (heap: HeapInfo) => number])[] = [
  ["go_memstats_heap_alloc_bytes", "Bytes of objects on V8's heap", (heap) => heap.used_heap_size],
  ["go_memstats_heap_inuse_bytes", "Bytes of V8's heap that are backed by memory", (heap) => heap.total_physical_size],
  ["go_memstats_heap_sys_bytes", "Bytes that V8's heap has obtained from the system", (heap) => heap.total_heap_size],
];

/** Declares memory, CPU and event loop of this process. */
export function declareProcessMetrics(registry: Registry): void {
  // The library's monitor of the event loop cannot be left out: it sleeps for as long as it can be made to.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 2 ** 31 - 1 });
  for (const { name } of registry.getMetricsAsArray())
    if (name.startsWith(loopLagName)) registry.removeSingleMetric(name);
  declareLoopLag(registry);
  for (const [name, help, value] of heapGauges) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => gauge.set(value(getHeapStatistics())),
    });
  }
}
