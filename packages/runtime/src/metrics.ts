/**
 * Metrics behind a narrow interface: one registry a service, so that five services in one process
 * do not share counters. A metric is declared once, with the unit in its name and a closed set of
 * label values.
 */
import { Counter as PromCounter, Gauge as PromGauge, Registry } from "prom-client";
import { RuntimeError } from "./errors.ts";
import { PlainHistogram } from "./histogram.ts";
import { LabelTable } from "./label-table.ts";
import { declareProcessMetrics } from "./process-metrics.ts";
import { mainThreadStalls } from "./watchdog.ts";

type LabelValues<L extends string> = Readonly<Record<L, string | number>>;

/** A value that only grows. */
export interface Counter<L extends string = never> {
  add(value: number, ...labels: LabelArguments<L>): void;
}

/** A value that grows and falls. */
export interface Gauge<L extends string = never> {
  set(value: number, ...labels: LabelArguments<L>): void;
  /** The label values are no longer reported. */
  remove(...labels: LabelArguments<L>): void;
}

/** A distribution of values, in the unit of the metric's name. */
export interface Histogram<L extends string = never> {
  observe(value: number, ...labels: LabelArguments<L>): void;
}

/** A metric without labels takes none, one with labels takes all of them. */
type LabelArguments<L extends string> = [L] extends [never] ? [] : [labels: LabelValues<L>];

interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}
interface GaugeOptions<L extends string> extends MetricOptions<L> {
  /** Called when the metrics are read, for values that are cheaper to look up than to keep. */
  readonly collect?: (gauge: Gauge<L>) => void;
}
interface HistogramOptions<L extends string> extends MetricOptions<L> {
  readonly buckets?: readonly number[];
}

/** One series of a gauge. */
export interface Sample<L extends string> {
  readonly labels: LabelValues<L>;
  readonly value: number;
}

/** For `collect`: the series are those of `samples`, looked up when the metrics are read; others are no longer reported. */
export function seriesOf<L extends string>(samples: () => readonly Sample<L>[]): (gauge: LabelledGauge<L>) => void {
  let before: readonly Sample<L>[] = [];
  return (gauge) => {
    for (const { labels } of before) gauge.remove(labels);
    before = samples();
    for (const { labels, value } of before) gauge.set(value, labels);
  };
}

interface LabelledGauge<L extends string> {
  set(value: number, labels: LabelValues<L>): void;
  remove(labels: LabelValues<L>): void;
}

/** The metrics of one service, and their text for Prometheus. */
export interface Metrics {
  readonly contentType: string;
  counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: GaugeOptions<L>): Gauge<L>;
  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L>;
  /** In Prometheus' text form. */
  text(): Promise<string>;
}

/** From 1 ms to 60 s, for latencies in seconds. */
export const latencyBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Metrics of a service beside its own. */
export interface MetricsOptions {
  /** Memory, CPU and event loop of the process; off where several services share one. */
  readonly process?: boolean;
}

/** Creates an empty registry of metrics. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  if (options.process === true) declareProcessMetrics(registry);
  const register = <T>(name: string, make: () => T): T => {
    try {
      return make();
    } catch (cause) {
      throw new RuntimeError("METRIC_INVALID", `metric ${name} cannot be declared`, { cause });
    }
  };
  declareStalls(registry);
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    counter: (o) => register(o.name, () => createCounter(registry, o)),
    gauge: (o) => register(o.name, () => createGauge(registry, o)),
    histogram: (o) => register(o.name, () => createHistogram(registry, o)),
  };
}

/** Of the process, which five services may share: each shows them. */
function declareStalls(registry: Registry): void {
  let shown = 0;
  const counter = new PromCounter({
    name: "flotilla_main_thread_stalls_total",
    help: "Times that the main thread did not run for WATCHDOG_REPORT_AFTER or longer.",
    registers: [registry],
    collect: () => {
      const count = mainThreadStalls();
      counter.inc(count - shown);
      shown = count;
    },
  });
}

/** Gathers what is added, and hands it over when the metrics are read. */
function createCounter<L extends string>(registry: Registry, options: MetricOptions<L>): Counter<L> {
  const { name, help, labels = [] } = options;
  const added = new LabelTable(labels, (of) => ({ of, value: 0 }));
  const inner = new PromCounter<string>({
    name,
    help,
    labelNames: [...labels],
    registers: [registry],
    collect: () => {
      for (const entry of added.all()) {
        inner.inc({ ...entry.of }, entry.value);
        entry.value = 0;
      }
    },
  });
  return {
    add: (value, ...given) => {
      added.of(given[0] ?? {}).value += value;
    },
  };
}

function createGauge<L extends string>(registry: Registry, options: GaugeOptions<L>): Gauge<L> {
  const { name, help, labels, collect } = options;
  const inner = new PromGauge<string>({
    name,
    help,
    labelNames: [...(labels ?? [])],
    registers: [registry],
    ...(collect !== undefined && { collect: () => collect(gauge) }),
  });
  const gauge: Gauge<L> = {
    set: (value, ...given) => inner.set(given[0] ?? {}, value),
    remove: (...given) => inner.remove(given[0] ?? {}),
  };
  return gauge;
}

function createHistogram<L extends string>(registry: Registry, options: HistogramOptions<L>): Histogram<L> {
  const { name, help, labels: labelNames = [], buckets = latencyBuckets } = options;
  const inner = new PlainHistogram(registry, { name, help, labelNames, buckets });
  return { observe: (value, ...given) => inner.observe(value, given[0] ?? {}) };
}
