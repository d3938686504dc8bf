/** Values of Prometheus' text form. */

/** The sum over all series of a metric; undefined where it has none. */
export type MetricSums = ReadonlyMap<string, number>;

/** Comments and lines of another form are left out. */
export function sumsOf(text: string): MetricSums {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})? ([^ ]+)/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}
