/** Resident memory of processes over time, and the slope of it. */
import { readFileSync } from "node:fs";

interface Sample {
  readonly atMs: number;
  readonly mb: number;
}

export class MemoryLog {
  /** By service and process: one that was started again begins anew. */
  readonly #samples = new Map<string, Sample[]>();

  note(name: string, pid: number, atMs: number): void {
    const kb = rssOf(pid);
    if (kb === undefined) return;
    const key = `${name} ${pid}`;
    const samples = this.#samples.get(key) ?? [];
    samples.push({ atMs, mb: kb / 1024 });
    this.#samples.set(key, samples);
  }

  /** Of each process that ran for `leastMs`: without its first third, while caches fill. */
  rows(leastMs: number): readonly string[] {
    return [...this.#samples].flatMap(([key, samples]) => {
      const [first, last] = [samples[0], samples.at(-1)];
      if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return [];
      const later = samples.filter(({ atMs }) => atMs - first.atMs > (last.atMs - first.atMs) / 3);
      const minutes = Math.round((last.atMs - first.atMs) / 60_000);
      const peak = Math.max(...samples.map(({ mb }) => mb));
      const cells = [
        key.split(" ")[0],
        minutes,
        ...[first.mb, last.mb, peak, slopeAnHour(later)].map((mb) => mb.toFixed(0)),
      ];
      return [`| ${cells.join(" | ")} |`];
    });
  }
}

/** By least squares. */
function slopeAnHour(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(samples.map(({ atMs }) => atMs)), mean(samples.map(({ mb }) => mb))];
  const covariance = samples.reduce((sum, { atMs, mb }) => sum + (atMs - x) * (mb - y), 0);
  const variance = samples.reduce((sum, { atMs }) => sum + (atMs - x) ** 2, 0);
  return variance === 0 ? 0 : (covariance / variance) * 3_600_000;
}

function rssOf(pid: number): number | undefined {
  try {
    const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kb === undefined ? undefined : Number(kb);
  } catch {
    // It ended, and its successor has another number.
    return undefined;
  }
}
