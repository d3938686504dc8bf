/** How the ambient bench prints what it measured: a line of JSON for each figure. */
import { cpuOf, type MeasuredPlane } from "./control-plane.ts";

export function printFigure(name: string, figure: string | number): void {
  process.stdout.write(`${JSON.stringify({ [name]: figure })}\n`);
}

/** CPU since `before`, all processes and each. */
export function printCpu(plane: MeasuredPlane, of: string, before: Readonly<Record<string, number>>): void {
  const spent = Object.entries(cpuOf(plane)).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)] as const);
  const sum = spent.reduce((all, [, seconds]) => all + seconds, 0);
  const parts = spent.map(([name, seconds]) => `${name} ${round(seconds)}`);
  printFigure(`CPU of ${of}, s`, `${round(sum)}: ${parts.join(", ")}`);
}

/** Median, 99th percentile and largest, rounded. */
export function quantiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99, 1]
    .map((q) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0))
    .join(", ");
}

/** To two digits after the point. */
export function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}
