/**
 * Where the built page lies. A release carries it; a checkout builds it from its sources when they are others than those it was built from. Each
 * state of the sources has a directory of its own, so that processes that build at the same time do not disturb each other.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Of a checkout; in a release nothing lies there. */
const ownCheckout = join(import.meta.dirname, "..");
/** Older states of the sources are removed after so long. */
const keptMs = 86_400_000;

/**
 * The directory that holds `index.html` and `assets/`, whose names contain a hash of their content. Takes about three seconds when it has to be built.
 * @throws Error with vite's output when the sources cannot be built
 */
export async function builtPage(checkout = ownCheckout): Promise<string> {
  if (!existsSync(join(checkout, "vite.config.ts"))) return fileURLToPath(new URL("../dist/page", import.meta.url));
  const states = join(checkout, "dist/states");
  const wanted = join(states, await hashOfSources(checkout));
  if (!existsSync(wanted)) {
    await mkdir(states, { recursive: true });
    await removeOld(states);
    const building = `${wanted}.${process.pid}`;
    await buildPage(checkout, building);
    await rename(building, wanted).catch(async (error: unknown) => {
      // Another process was faster.
      await rm(building, { recursive: true, force: true });
      if (!existsSync(wanted)) throw error;
    });
  }
  return wanted;
}

/** Builds the page where a release carries it. @throws Error with vite's output */
export async function buildReleasedPage(): Promise<void> {
  await buildPage(ownCheckout, join(ownCheckout, "dist/page"));
}

/** Builds into a directory, which is emptied first. @throws Error with vite's output */
async function buildPage(checkout: string, directory: string): Promise<void> {
  const vite = join(checkout, "node_modules/vite/bin/vite.js");
  if (!existsSync(vite)) throw new Error("the console's page cannot be built: its dependencies are not installed");
  try {
    await promisify(execFile)(process.execPath, [vite, "build", "--outDir", directory], { cwd: checkout });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`the console's page cannot be built: ${stderr}${stdout}`.trim(), { cause: error });
  }
}

async function hashOfSources(checkout: string): Promise<string> {
  const hash = createHash("sha256");
  const patterns = ["src/{page,contract}/**/*.{ts,tsx,css,svg}", "index.html", "vite.config.ts", "package.json"];
  const files = globSync(patterns, { cwd: checkout }).filter((file) => !file.includes(".test."));
  for (const file of files.toSorted()) hash.update(file).update(await readFile(join(checkout, file)));
  return hash.digest("hex").slice(0, 16);
}

async function removeOld(states: string): Promise<void> {
  for (const name of await readdir(states)) {
    const path = join(states, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > keptMs) await rm(path, { recursive: true, force: true });
  }
}
