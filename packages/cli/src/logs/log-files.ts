/** Logs of a control plane on this host: one file a replica in the work directory, followed as they grow. */
import { type FSWatcher, watch } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";

/** A replica's log file. */
export interface LogFile {
  readonly replica: string;
  readonly path: string;
}

/** Those of the named services, else all. @throws CliError CLI_ABSENT when there is none */
export async function logFilesIn(workDir: string, services: readonly string[]): Promise<readonly LogFile[]> {
  const { logs } = paths({ workDir });
  const names = await readdir(logs).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found = names
    .filter((name) => name.endsWith(".log"))
    .toSorted()
    .map((name) => ({ replica: basename(name, ".log"), path: join(logs, name) }))
    .filter(({ replica }) => services.length === 0 || services.some((service) => isOf(service, replica)));
  if (found.length > 0) return found;
  const whose = services.length === 0 ? "any service" : services.join(" or ");
  throw new CliError(
    "CLI_ABSENT",
    `${logs} has no log of ${whose}: flotilla up writes them; serve, containers and pods log to their output`,
  );
}

/** `xds-server` names `xds-server`, `xds-server-1`, …. */
function isOf(service: string, replica: string): boolean {
  return replica === service || (replica.startsWith(`${service}-`) && /^\d+$/.test(replica.slice(service.length + 1)));
}

const chunkBytes = 65_536;

/** A file that is read on from where it was read before; one that became shorter is read from its begin. */
export class GrowingFile {
  readonly #path: string;
  #offset = 0;
  /** Bytes, as a character may be cut in two. */
  #rest: Uint8Array = new Uint8Array();

  constructor(path: string) {
    this.#path = path;
  }

  /** Whole lines that were added since the last call. */
  async readLines(): Promise<readonly string[]> {
    const file = await open(this.#path, "r");
    try {
      const { size } = await file.stat();
      if (size < this.#offset) [this.#offset, this.#rest] = [0, new Uint8Array()];
      const parts: Uint8Array[] = [this.#rest];
      while (this.#offset < size) {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, this.#offset);
        if (bytesRead === 0) break;
        parts.push(buffer.subarray(0, bytesRead));
        this.#offset += bytesRead;
      }
      const bytes = Buffer.concat(parts);
      const end = bytes.lastIndexOf("\n") + 1;
      this.#rest = bytes.subarray(end);
      return bytes.toString("utf8", 0, end).split("\n").slice(0, -1);
    } finally {
      await file.close();
    }
  }
}

/** Calls `onChange` whenever a file of the directory changes, until it is disposed of. */
export function watchLogs(workDir: string, onChange: () => void): Disposable {
  const watcher: FSWatcher = watch(paths({ workDir }).logs, onChange);
  return { [Symbol.dispose]: () => watcher.close() };
}
