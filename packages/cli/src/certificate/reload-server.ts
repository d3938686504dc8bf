/**
 * Makes a server reload its certificate files: NATS reads them anew at SIGHUP, Redis at CONFIG SET. Neither needs the
 * certificate for that, so one that has expired meanwhile is replaced as well.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { backoff, delay, type Logger } from "@flotilla/runtime";
import { CliError } from "../errors.ts";

export interface ReloadOptions {
  /** File with the process id of a server that reads its files anew at SIGHUP. */
  readonly pidFile?: string | undefined;
  /** Unix socket of a Redis. */
  readonly redisSocket?: string | undefined;
  /** Password of its user `certificate`. */
  readonly redisPasswordFile?: string | undefined;
  /** Of the certificate, as the server sees it. */
  readonly directory: string;
  readonly log: Logger;
}

const answerMs = 5_000;

/** Until it has worked or `stop` fires. A server that does not run reads the files when it starts. */
export async function reloadServer(options: ReloadOptions, stop: AbortSignal): Promise<void> {
  const { pidFile, redisSocket, redisPasswordFile, directory, log } = options;
  for (const waitMs of backoff({ firstMs: 250, maxMs: 30_000, random: Math.random })) {
    try {
      if (pidFile !== undefined) await hangUp(pidFile);
      if (redisSocket !== undefined) await setFiles(redisSocket, redisPasswordFile, directory);
      if (pidFile !== undefined || redisSocket !== undefined)
        log.info("certificate reloaded by the server", { directory });
      return;
    } catch (error) {
      if (isNotRunning(error)) return log.info("server not running, it reads its certificate at its start");
      log.error("certificate not reloaded by the server", { directory, error });
    }
    await delay(waitMs, stop);
    if (stop.aborted) return;
  }
}

/** @throws CliError CLI_USAGE when the file does not name a process that may be signalled */
async function hangUp(pidFile: string): Promise<void> {
  const text = (await readFile(pidFile, "utf8")).trim();
  const pid = Number(text);
  if (!Number.isInteger(pid) || pid < 1) throw new CliError("CLI_USAGE", `${pidFile} holds no process id: "${text}"`);
  // In a namespace of its own each server is process 1, as we are in ours.
  if (pid === process.pid)
    throw new CliError("CLI_USAGE", `${pidFile} names this very process: the server must share its process namespace`);
  process.kill(pid, "SIGHUP");
}

/** The paths stay: Redis reads the files of a setting whenever it is set. */
async function setFiles(socketPath: string, passwordFile: string | undefined, directory: string): Promise<void> {
  const login =
    passwordFile === undefined ? [] : [["AUTH", "certificate", (await readFile(passwordFile, "utf8")).trim()]];
  const files = { "tls-cert-file": "tls.crt", "tls-key-file": "tls.key", "tls-ca-cert-file": "ca.crt" };
  const pairs = Object.entries(files).flatMap(([setting, file]) => [setting, join(directory, file)]);
  for (const answer of await ask(socketPath, [...login, ["CONFIG", "SET", ...pairs]]))
    if (answer !== "+OK")
      throw new CliError("CLI_REFUSED", `redis at ${socketPath} does not take its files: ${answer}`);
}

/** Commands whose answers have one line each; resolves to those lines. */
async function ask(socketPath: string, commands: readonly (readonly string[])[]): Promise<readonly string[]> {
  const socket = connect({ path: socketPath, signal: AbortSignal.timeout(answerMs) });
  try {
    await once(socket, "connect");
    for (const words of commands)
      socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
    let text = "";
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.split("\r\n").length > commands.length) break;
    }
    return text.split("\r\n").slice(0, commands.length);
  } finally {
    socket.destroy();
  }
}

function isNotRunning(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "ENOENT" || code === "ESRCH" || code === "ECONNREFUSED";
}
