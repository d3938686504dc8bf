/**
 * A histogram that is cheap to observe: one push to a thousand proxies observes thousands of times. prom-client's own checks and
 * hashes the labels each time; its registry reads this one out beside the others.
 */
import type { Metric, Registry } from "prom-client";
import { LabelTable } from "./label-table.ts";

export interface PlainHistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

interface Series {
  readonly labels: Readonly<Record<string, string | number>>;
  /** Observations per bucket, not those below; the last one is beyond all bounds. */
  readonly counts: number[];
  sum: number;
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class PlainHistogram {
  readonly #options: PlainHistogramOptions;
  readonly #series: LabelTable<Series>;

  constructor(registry: Registry, options: PlainHistogramOptions) {
    const { name, help, labelNames, buckets } = options;
    this.#options = options;
    this.#series = new LabelTable(labelNames, (labels) => ({
      labels,
      counts: new Array<number>(buckets.length + 1).fill(0),
      sum: 0,
    }));
    const get = async () => ({ name, help, type: "histogram", aggregator: "sum", values: this.#samples() });
    // Members of a metric that the registry needs: a name, and its samples.
    registry.registerMetric({ name, get } as unknown as Metric<string>);
  }

  /** @throws RangeError: the value is no number, and would spoil the sum for good */
  observe(value: number, labels: Readonly<Record<string, string | number>>): void {
    const { name, buckets } = this.#options;
    if (!Number.isFinite(value)) throw new RangeError(`metric ${name} cannot take ${value}`);
    const series = this.#series.of(labels);
    let bucket = 0;
    while (bucket < buckets.length && value > (buckets[bucket] ?? 0)) bucket++;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += value;
  }

  #samples(): readonly Sample[] {
    return [...this.#series.all()].flatMap((series) => samplesOf(series, this.#options));
  }
}

function samplesOf({ labels, counts, sum }: Series, { name, buckets }: PlainHistogramOptions): readonly Sample[] {
  let count = 0;
  const cumulative = counts.map((more, index) => {
    count += more;
    return { metricName: `${name}_bucket`, labels: { le: buckets[index] ?? "+Inf", ...labels }, value: count };
  });
  return [
    ...cumulative,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
