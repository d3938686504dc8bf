/** Programs on this machine: found on PATH in a version that is new enough, and run. */
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { ServerKind } from "./catalog.ts";

export type Env = Readonly<Record<string, string | undefined>>;

const run = promisify(execFile);
const fetchMs = 300_000;

/** The first that is new enough; each that is not is reported in `tried`. */
export async function onPath(kind: ServerKind, env: Env, tried: string[]): Promise<string | undefined> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const programs = kind.programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  const wanted = kind.minimum.join(".");
  for (const program of programs.filter(isExecutable)) {
    const version = await versionOf(kind, program, env);
    if (version !== undefined && isNewEnough(version, kind.minimum)) return program;
    const why = version === undefined ? "does not report its version" : `${version.join(".")} is older than ${wanted}`;
    tried.push(`${program} (${why})`);
  }
  if (tried.length === 0) tried.push(`${kind.programs.join(", ")} on PATH`);
  return undefined;
}

async function versionOf(
  { versionArgs, version }: ServerKind,
  program: string,
  env: Env,
): Promise<readonly [number, number] | undefined> {
  try {
    const { stdout, stderr } = await run(program, [...versionArgs], { timeout: 10_000, env: { ...env } });
    const found = version.exec(stdout + stderr);
    return found === null ? undefined : [Number(found[1]), Number(found[2])];
  } catch {
    // A program that cannot print its version is passed over, and named in the error if nothing else is found.
    return undefined;
  }
}

function isNewEnough(
  [major, minor]: readonly [number, number],
  [wantMajor, wantMinor]: readonly [number, number],
): boolean {
  return major > wantMajor || (major === wantMajor && minor >= wantMinor);
}

export interface AttemptOptions {
  readonly env: Env;
  readonly stop?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number;
}

/** Runs a program that fetches or builds; resolves to what went wrong. */
export async function attempt(
  program: string,
  args: readonly string[],
  { env, stop, timeout = fetchMs }: AttemptOptions,
): Promise<string | undefined> {
  try {
    await run(program, [...args], { timeout, env: { ...env }, ...(stop && { signal: stop }) });
    return undefined;
  } catch (error) {
    stop?.throwIfAborted();
    const { stderr = "", message } = error as { readonly stderr?: string; readonly message: string };
    return stderr.trim().split("\n").at(-1) || message.split("\n")[0];
  }
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Absent or not executable: both mean that it cannot be used.
    return false;
  }
}
