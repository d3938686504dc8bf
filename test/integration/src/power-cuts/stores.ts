/** A real NATS and a real Redis whose disks are copied while they run, put back, torn and wiped. */
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { freePort, type RunningServer, startNats, startRedis } from "@flotilla/servers";

export const storeNames = ["nats", "redis"] as const;
export type StoreName = (typeof storeNames)[number];

/**
 * State of a server that comes back after it was killed: all, the last bytes of a file missing, an older copy, an older copy whose last
 * bytes are missing, nothing.
 */
export const losses = ["none", "torn", "rewound", "rewound and torn", "wiped"] as const;
export type Loss = (typeof losses)[number];

export class Stores implements AsyncDisposable {
  readonly #directory: string;
  readonly #ports: Readonly<Record<StoreName, number>>;
  readonly #running = new Map<StoreName, RunningServer>();
  readonly #random: () => number;

  private constructor(directory: string, ports: Readonly<Record<StoreName, number>>, random: () => number) {
    this.#directory = directory;
    this.#ports = ports;
    this.#random = random;
  }

  static async start(directory: string, random: () => number): Promise<Stores> {
    const stores = new Stores(directory, { nats: await freePort(), redis: await freePort() }, random);
    for (const name of storeNames) await stores.start(name);
    return stores;
  }

  url(name: StoreName): string {
    return `${name}://127.0.0.1:${this.#ports[name]}`;
  }

  async start(name: StoreName): Promise<void> {
    const start = name === "nats" ? startNats : startRedis;
    const options = { directory: this.#directory, env: process.env, port: this.#ports[name] };
    // On a machine that is overloaded a server may not be ready in time; one that cannot read its disk never is.
    const server = await start(options).catch(() => start(options).catch(() => start(options)));
    this.#running.set(name, server);
    void server.exited.then(() => this.#running.get(name) === server && this.#running.delete(name));
  }

  pid(name: StoreName): number | undefined {
    return this.#running.get(name)?.pid;
  }

  async kill(name: StoreName): Promise<void> {
    await this.#running.get(name)?.kill();
    this.#running.delete(name);
  }

  /** As somebody finds the disk who reads it while the server writes. */
  copy(name: StoreName): void {
    const to = this.#copyOf(name);
    rmSync(to, { recursive: true, force: true });
    copyFolder(this.#dataOf(name), to);
  }

  /** Of a server that does not run. */
  lose(name: StoreName, loss: Loss): void {
    const data = this.#dataOf(name);
    if (loss !== "none" && loss !== "torn") empty(data);
    if (loss.startsWith("rewound")) copyFolder(this.#copyOf(name), data);
    if (loss.endsWith("torn")) this.#tear(data);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#running.values()) await server[Symbol.asyncDispose]();
  }

  #dataOf(name: StoreName): string {
    return join(this.#directory, name);
  }

  #copyOf(name: StoreName): string {
    return join(this.#directory, `${name}-copy`);
  }

  /** The block or the append-only file that was written last. */
  #tear(directory: string): void {
    const files = filesBelow(directory).filter((file) => /\.(?:blk|incr\.aof)$/.test(file));
    const [last] = files.map((file) => ({ file, ...timeAndSize(file) })).sort((a, b) => b.mtimeMs - a.mtimeMs);
    if (last === undefined || last.size === 0) return;
    const missing = 1 + Math.floor(this.#random() * Math.min(last.size, 1_000));
    truncateSync(last.file, last.size - missing);
  }
}

/** Without the directory itself, which may be a disk of its own. */
function empty(directory: string): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true, force: true });
}

function timeAndSize(file: string): { readonly mtimeMs: number; readonly size: number } {
  const { mtimeMs, size } = statSync(file);
  return { mtimeMs, size };
}

function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Files may go while they are copied: the copy is of several moments then, as after a power cut. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    try {
      if (entry.isDirectory()) copyFolder(source, target);
      else copyFileSync(source, target);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "ENOENT") throw error;
    }
  }
}
