/** A directory of kubeconfigs, looked at in an interval, since mounted volumes report no change. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { delay } from "@flotilla/runtime";

/** All files by path; `away` has the reason where the directory or a file cannot be read, and `files` is what was read last then. */
export interface KubeconfigFiles {
  readonly files: ReadonlyMap<string, string>;
  readonly away: string | undefined;
}

const everyMs = 2_000;

/** The first version at once, then one whenever something differs, until `stop` fires. */
export async function* followKubeconfigFiles(
  directory: string,
  stop: AbortSignal,
  pollMs: number = everyMs,
): AsyncGenerator<KubeconfigFiles, void, undefined> {
  let [files, last]: [ReadonlyMap<string, string>, string | undefined] = [new Map(), undefined];
  while (!stop.aborted) {
    let away: string | undefined;
    try {
      files = await readAll(directory);
    } catch (error) {
      away = (error as Error).message;
    }
    const identity = JSON.stringify([[...files], away]);
    if (identity !== last) yield { files, away };
    last = identity;
    await delay(pollMs, stop);
  }
}

/** Names with a dot in front are Kubernetes' own in a mounted volume. */
async function readAll(directory: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  const paths = names.map((name) => join(directory, name));
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path, "utf8")] as const)));
}
