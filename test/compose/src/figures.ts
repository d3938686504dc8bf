/** Measured figures of a run, shown at its end. */
const figures = new Map<string, string>();

export function figure(name: string, value: string): void {
  figures.set(name, value);
}

export function figuresTable(): string {
  const rows = [...figures].map(([name, value]) => `| ${name} | ${value} |`);
  return ["| measured | |", "|---|---|", ...rows].join("\n");
}

/** Resolves to the result of `work`, and notes its duration under `name`. */
export async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  const result = await work();
  figure(name, seconds(performance.now() - begin));
  return result;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
