/** A real server as a child process, for `flotilla up` and for tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { delay } from "@flotilla/runtime";
import { ServersError } from "./errors.ts";
import type { FetchOptions } from "./find-server.ts";
import { findServer } from "./find-server.ts";
import { freePort } from "./free-port.ts";
import { endGroup, endWithThisProcess, noteHolder, releaseDirectory, takeDirectory } from "./held-directory.ts";

/** Directory and port of a server. */
export interface StartOptions extends FetchOptions {
  /** For its data and its log. One server of a kind at a time. */
  readonly directory: string;
  /** A free one when absent. */
  readonly port?: number;
}

/** Options of a NATS server. */
export interface NatsOptions extends StartOptions {
  /** Text for its configuration: who may connect, and what each may do. Everybody may do everything without it. */
  readonly authorization?: string;
  /**
   * How `failure()` asks the server on this port for its health, as the one user of the system account, which sees no stream. `authorization` must
   * have users then, and no accounts.
   */
  readonly health?: (port: number, user: SystemUser) => Promise<string | undefined>;
}

interface SystemUser {
  readonly name: string;
  readonly password: string;
}

/** Options of a Redis server. */
export interface RedisOptions extends StartOptions {
  /** Lines for its configuration, one a user. Everybody may do everything without them. */
  readonly users?: readonly string[];
}

/** A server that runs; disposing of it ends its process. */
export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly binary: string;
  readonly logFile: string;
  /** Resolves when it has ended, to how: `code 1`, `signal SIGKILL`. */
  readonly exited: Promise<string>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /**
   * The failure that keeps it from its work until it is restarted; undefined for a server that works, or whose disk is full: a restart does
   * not help then.
   */
  failure(): Promise<string | undefined>;
}

export interface Plan {
  readonly name: "nats" | "redis" | "consul";
  readonly scheme: string;
  /** Its arguments; may prepare files in the directory. */
  readonly args: (directory: string, port: number) => readonly string[] | Promise<readonly string[]>;
  /** Its answer to `question` holds `answer` when it can be used: one that reads its data back listens before that. */
  readonly ready?: { readonly question: string; readonly answer: string };
  /** The problem that the server itself reports. */
  readonly health?: (port: number) => Promise<string | undefined>;
}

/** Large enough for the endpoints of the largest service, packed; the server's own limit is 64 MB. */
const maxPayloadBytes = 8 * 1024 * 1024;

/** Files with secrets are for the user that runs the server alone; nothing of them is on its command line. */
export function writePrivately(file: string, lines: readonly string[]): void {
  rmSync(file, { force: true });
  writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o600 });
}

/**
 * The disk is the bound of the streams. By default NATS takes three quarters of the room that it finds at its start: started on a full disk it
 * would refuse every write from then on, and report that it is well.
 */
export const maxFileStore = "1TB";

function natsPlan({ authorization = "", health }: NatsOptions): Plan {
  const user = { name: "health", password: randomBytes(16).toString("hex") };
  const account = `accounts { SYS { users: [{ user: ${user.name}, password: "${user.password}" }] } }\nsystem_account: SYS`;
  return {
    name: "nats",
    scheme: "nats",
    ...(health && { health: (port) => health(port, user) }),
    args: (directory, port) => {
      const file = join(directory, "nats.conf");
      const store = JSON.stringify(join(directory, "nats"));
      writePrivately(file, [
        `max_payload: ${maxPayloadBytes}`,
        `jetstream { store_dir: ${store}, sync_interval: always, max_file_store: ${maxFileStore} }`,
        ...(health === undefined ? [] : [account]),
        authorization,
      ]);
      return ["--config", file, "--addr", "127.0.0.1", "--port", String(port)];
    },
  };
}

/** Readiness of a server with users is asked for by a user of its own: unknown users get the same answer while it loads its data. */
function redisPlan({ users }: RedisOptions): Plan {
  const password = randomBytes(16).toString("hex");
  const probe = `user probe reset on >${password} +ping`;
  return {
    name: "redis",
    scheme: "redis",
    ready: { question: users === undefined ? "PING\r\n" : `AUTH probe ${password}\r\nPING\r\n`, answer: "+PONG" },
    args: (directory, port) => {
      const data = join(directory, "redis");
      mkdirSync(data, { recursive: true });
      const given = ["--bind", "127.0.0.1", "--port", String(port), "--dir", data, "--appendonly", "yes", "--save", ""];
      if (users === undefined) return given;
      const file = join(directory, "redis.conf");
      writePrivately(file, ["user default reset off", probe, ...users]);
      return [file, ...given];
    },
  };
}

const attemptsWithFreePort = 3;
const readyWithinMs = 15_000;
const stopWithinMs = 5_000;

/** JetStream on, data in the directory. @throws ServersError */
export function startNats(options: NatsOptions): Promise<RunningServer> {
  return start(natsPlan(options), options);
}

/** Redis or Valkey, append-only file in the directory. @throws ServersError */
export function startRedis(options: RedisOptions): Promise<RunningServer> {
  return start(redisPlan(options), options);
}

/** Starts the server of a plan, on a port of its own. @throws ServersError */
export async function start(plan: Plan, options: StartOptions): Promise<RunningServer> {
  const binary = await findServer(plan.name, options);
  options.stop?.throwIfAborted();
  const directory = resolve(options.directory);
  await takeDirectory(directory, plan.name);
  if (options.port !== undefined) return launch(plan, binary, directory, options.port);
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(plan, binary, directory, await freePort());
    } catch (error) {
      // Somebody else may have taken the port since we saw that it was free.
      if (attempt === attemptsWithFreePort) throw error;
    }
  }
}

async function launch(
  { name, scheme, args, ready, health }: Plan,
  binary: string,
  directory: string,
  port: number,
): Promise<RunningServer> {
  if (await accepts(port)) throw new ServersError("SERVER_FAILED", `port ${port} is in use, ${name} cannot have it`);
  const logFile = join(directory, `${name}.log`);
  const given = await args(directory, port);
  const log = openSync(logFile, "a");
  const child = spawn(binary, [...given], { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(error.message));
    child.once("exit", (code, signal) => done(signal === null ? `code ${code}` : `signal ${signal}`));
  });
  const { pid } = child;
  if (pid === undefined) throw new ServersError("SERVER_FAILED", `cannot start ${binary}: ${await exited}`);
  noteHolder(directory, name, pid);
  const endWatcher = endWithThisProcess(pid);
  void exited.then(() => {
    endWatcher();
    releaseDirectory(directory, name, pid);
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    await stop(child, pid, signal);
    await exited;
  };
  try {
    await listening(child, { name, port, logFile, ready });
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
  const url = `${scheme}://127.0.0.1:${port}`;
  return {
    url,
    port,
    pid,
    binary,
    logFile,
    exited,
    kill: () => end("SIGKILL"),
    failure: async () => ((await hasRoom(directory)) ? health?.(port) : undefined),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
  };
}

interface Awaited {
  readonly name: string;
  readonly port: number;
  readonly logFile: string;
  readonly ready: Plan["ready"];
}

async function listening(child: ChildProcess, { name, port, logFile, ready }: Awaited): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  while (performance.now() < deadline) {
    if (hasEnded(child)) {
      const how = child.signalCode ?? `code ${child.exitCode}`;
      throw new ServersError(
        "SERVER_FAILED",
        `${name} ended with ${how}: ${readFileSync(logFile, "utf8").slice(-500)}`,
      );
    }
    if (await (ready === undefined ? accepts(port) : answers(port, ready))) return;
    await delay(10);
  }
  throw new ServersError("SERVER_FAILED", `${name} does not listen on port ${port}, its log is ${logFile}`);
}

/** Enough for a server to open its files and go on. */
const roomBytes = 1024 * 1024;

async function hasRoom(directory: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize >= roomBytes;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.once("error", () => done(false));
  });
}

function answers(port: number, { question, answer }: NonNullable<Plan["ready"]>): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (isReady: boolean): void => {
      socket.destroy();
      done(isReady);
    };
    socket.setTimeout(500, () => end(false));
    socket.once("connect", () => socket.write(question));
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (text.includes(answer)) end(true);
      else if (/^-|\r\n-/.test(text)) end(false);
    });
    socket.once("error", () => end(false));
    socket.once("close", () => done(false));
  });
}

async function stop(child: ChildProcess, pid: number, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  endGroup(pid, signal);
  const timer = setTimeout(() => endGroup(pid, "SIGKILL"), stopWithinMs);
  await ended;
  clearTimeout(timer);
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
