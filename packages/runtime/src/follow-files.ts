/** Files as they are and as they become: checked in an interval, since mounted volumes report no change. */
import { readFile, stat } from "node:fs/promises";
import { sharedDelay } from "./shared-delay.ts";

/** `texts` is undefined where a file cannot be read; `reason` gives the cause. */
export interface FilesVersion {
  readonly texts: readonly string[] | undefined;
  readonly reason: string;
}

/** A file that changed less than this ago may change once more within one step of its file system's clock. */
const settledMs = 2_000;

/** Files that are read again only where their inode, size or times differ: `stat` costs a fifth of reading. */
export class FileReader {
  readonly #paths: readonly string[];
  #identity: string | undefined;
  #version: FilesVersion = { texts: undefined, reason: "" };

  constructor(paths: readonly string[]) {
    this.#paths = paths;
  }

  async read(): Promise<FilesVersion> {
    try {
      // Before the texts are read: a change in between is found the next time.
      const identity = await identityOf(this.#paths);
      if (identity === undefined || identity !== this.#identity) {
        const texts = await Promise.all(this.#paths.map((path) => readFile(path, "utf8")));
        this.#version = { texts, reason: "" };
      }
      this.#identity = identity;
    } catch (error) {
      this.#identity = undefined;
      this.#version = { texts: undefined, reason: (error as Error).message };
    }
    return this.#version;
  }
}

/** The first version at once, then one whenever something differs, until `stop`. */
export async function* followFiles(
  paths: readonly string[],
  pollMs: number,
  stop: AbortSignal,
): AsyncGenerator<FilesVersion, void, undefined> {
  const reader = new FileReader(paths);
  let last: FilesVersion | undefined;
  let identity: string | undefined;
  while (!stop.aborted) {
    const version = await reader.read();
    if (version !== last) {
      const text = JSON.stringify(version);
      if (text !== identity) yield version;
      identity = text;
    }
    last = version;
    await sharedDelay(pollMs, stop);
  }
}

/** Undefined while a file has changed a moment ago, or will have by its time. */
async function identityOf(paths: readonly string[]): Promise<string | undefined> {
  const all = await Promise.all(paths.map((path) => stat(path)));
  const nowMs = Date.now();
  if (all.some(({ mtimeMs, ctimeMs }) => nowMs - Math.max(mtimeMs, ctimeMs) < settledMs)) return undefined;
  return all.map(({ dev, ino, size, mtimeMs, ctimeMs }) => [dev, ino, size, mtimeMs, ctimeMs].join(" ")).join("\n");
}
