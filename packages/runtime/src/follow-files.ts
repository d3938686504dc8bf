/** Files as they are and as they become: looked at in an interval, since mounted volumes report no change. */
import { readFile } from "node:fs/promises";
import { delay } from "./wait.ts";

/** `texts` is undefined where a file cannot be read; `reason` gives the cause. */
export interface FilesVersion {
  readonly texts: readonly string[] | undefined;
  readonly reason: string;
}

/** The first version at once, then one whenever something differs, until `stop`. */
export async function* followFiles(
  paths: readonly string[],
  pollMs: number,
  stop: AbortSignal,
): AsyncGenerator<FilesVersion, void, undefined> {
  let last: string | undefined;
  while (!stop.aborted) {
    const version = await read(paths);
    const identity = JSON.stringify(version);
    if (identity !== last) yield version;
    last = identity;
    await delay(pollMs, stop);
  }
}

async function read(paths: readonly string[]): Promise<FilesVersion> {
  try {
    return { texts: await Promise.all(paths.map((path) => readFile(path, "utf8"))), reason: "" };
  } catch (error) {
    return { texts: undefined, reason: (error as Error).message };
  }
}
