/** Measurements of a run with simulated proxies, independent of the simulator. */
export interface EditFigures {
  /** The kind of proxies. */
  readonly proxies: string;
  readonly allSyncedMs: number;
  /** From the writing of the file to what each proxy received, which acknowledges at once. */
  readonly p50Ms: number;
  /** The same at the last proxy: the median of the edits. */
  readonly lastMs: number;
  /** All proxies together. */
  readonly bytesPerEdit: number;
}

export interface EditRun {
  /** `host:port` of ADS. */
  readonly address: string;
  readonly clients: number;
  readonly form: "delta" | "sotw";
  /** The directory the mesh lies in. */
  readonly config: string;
  /** For what the run writes beside it. */
  readonly workDir: string;
}

export const editsPerRun = 5;

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
