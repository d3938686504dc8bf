/**
 * The version before this one: its own files with its own dependencies, installed as its lock file names them. VERSION_BEFORE names it: a tag
 * or a commit.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "@flotilla/servers";
import { root } from "../local/flotilla.ts";

const run = promisify(execFile);
const installMs = 300_000;
/** Kept between runs, one version. Not below node_modules, where Node runs no TypeScript. */
const cache = join(cacheFolder(process.env), "version-before");

export interface VersionBefore {
  readonly commit: string;
  readonly subject: string;
}

/** Undefined unless VERSION_BEFORE names it. @throws Error when it is no commit of this repository */
export async function findVersionBefore(
  env: Readonly<Record<string, string | undefined>>,
): Promise<VersionBefore | undefined> {
  const given = env["VERSION_BEFORE"];
  if (given === undefined) return undefined;
  const { stdout } = await run("git", ["log", "-1", "--format=%H %s", given], { cwd: root });
  const [commit = ""] = stdout.split(" ", 1);
  return { commit, subject: stdout.slice(commit.length + 1).trim() };
}

/** The directory of its root. */
export async function installVersionBefore({ commit }: VersionBefore): Promise<string> {
  const directory = join(cache, commit);
  const installed = join(directory, "node_modules/.installed");
  if (existsSync(installed)) return directory;
  mkdirSync(cache, { recursive: true });
  for (const other of readdirSync(cache)) rmSync(join(cache, other), { recursive: true, force: true });
  mkdirSync(directory);
  const archive = `${directory}.tar`;
  await run("git", ["archive", "--output", archive, commit], { cwd: root });
  await run("tar", ["-xf", archive, "-C", directory]);
  rmSync(archive);
  const { stdout } = await run(
    "node",
    ["-p", `/"pnpm@[^"]+"/.exec(require("fs").readFileSync("scripts/bootstrap.mjs", "utf8"))[0]`],
    {
      cwd: directory,
    },
  );
  const pnpm = stdout.trim().replaceAll('"', "");
  await run("npx", ["-y", pnpm, "install", "--frozen-lockfile", "--prefer-offline"], {
    ...{ cwd: directory, timeout: installMs },
  });
  writeFileSync(installed, commit);
  return directory;
}
