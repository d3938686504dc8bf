/** A real server as a child process, for `flotilla up` and for tests. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { delay } from "@flotilla/runtime";
import { ServersError } from "./errors.ts";
import { type FindOptions, findServer } from "./find-server.ts";

export interface StartOptions extends FindOptions {
  /** For its data and its log. */
  readonly directory: string;
  /** A free one when absent. */
  readonly port?: number;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly logFile: string;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

export async function startNats(options: StartOptions): Promise<RunningServer> {
  const port = options.port ?? (await freePort());
  const args = [
    "--addr",
    "127.0.0.1",
    "--port",
    String(port),
    "--jetstream",
    "--store_dir",
    join(options.directory, "nats"),
  ];
  return start("nats", args, `nats://127.0.0.1:${port}`, port, options);
}

export async function startRedis(options: StartOptions): Promise<RunningServer> {
  const port = options.port ?? (await freePort());
  const data = join(options.directory, "redis");
  mkdirSync(data, { recursive: true });
  const args = ["--bind", "127.0.0.1", "--port", String(port), "--dir", data, "--appendonly", "yes", "--save", ""];
  return start("redis", args, `redis://127.0.0.1:${port}`, port, options);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === "string")
    throw new ServersError("SERVER_FAILED", "the system gives no port");
  return address.port;
}

async function start(
  name: "nats" | "redis",
  args: readonly string[],
  url: string,
  port: number,
  options: StartOptions,
): Promise<RunningServer> {
  const binary = await findServer(name, options);
  mkdirSync(options.directory, { recursive: true });
  const logFile = join(options.directory, `${name}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(binary, [...args], { stdio: ["ignore", log, log] });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) throw new ServersError("SERVER_FAILED", `cannot start ${binary}`);
  // A child must not outlive this process, however that ends.
  const endWithUs = () => child.kill("SIGKILL");
  process.once("exit", endWithUs);
  const end = async (signal: NodeJS.Signals) => {
    process.off("exit", endWithUs);
    await stop(child, signal);
  };
  try {
    await listening(child, name, port, logFile);
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
  return { url, port, pid, logFile, kill: () => end("SIGKILL"), [Symbol.asyncDispose]: () => end("SIGTERM") };
}

async function listening(child: ChildProcess, name: string, port: number, logFile: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) {
      throw new ServersError(
        "SERVER_FAILED",
        `${name} ended with code ${child.exitCode}: ${readFileSync(logFile, "utf8").slice(-500)}`,
      );
    }
    if (await accepts(port)) return;
    await delay(10);
  }
  throw new ServersError("SERVER_FAILED", `${name} does not listen on port ${port}, its log is ${logFile}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}
