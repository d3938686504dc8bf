/** Reads Prometheus' text form, for those who show the metrics of other processes. Lines of another form are left out. */

/** By name, the sum over all series of a metric. */
export type MetricSums = ReadonlyMap<string, number>;

/** Of a histogram: observations up to each bound, over all series; `Infinity` has all of them. */
export type BucketSums = ReadonlyMap<number, number>;

/** Of all metrics of the text. */
export function sumsOf(text: string): MetricSums {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})? ([^ ]+)/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

/** Of the histogram of that name. */
export function bucketsOf(text: string, name: string): BucketSums {
  const sums = new Map<number, number>();
  const prefix = `${name}_bucket{`;
  for (const line of text.split("\n")) {
    if (!line.startsWith(prefix)) continue;
    const [, bound = ""] = /[{,]le="([^"]*)"/.exec(line) ?? [];
    const at = bound === "+Inf" ? Number.POSITIVE_INFINITY : Number(bound);
    const value = Number(line.slice(line.lastIndexOf(" ") + 1));
    if (bound !== "" && !Number.isNaN(value)) sums.set(at, (sums.get(at) ?? 0) + value);
  }
  return sums;
}

/**
 * The value that a share of the observations does not exceed, between the bounds of its bucket; undefined without observations. Beyond the last bound
 * the last bound.
 */
export function quantileOf(buckets: BucketSums, share: number): number | undefined {
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total === 0) return undefined;
  const wanted = share * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of sorted) {
    if (count >= wanted) {
      if (bound === Number.POSITIVE_INFINITY || count === below) return lower;
      return lower + ((bound - lower) * (wanted - below)) / (count - below);
    }
    [lower, below] = [bound, count];
  }
  return lower;
}
