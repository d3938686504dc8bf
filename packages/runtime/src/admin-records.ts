/**
 * Addresses of the admin interfaces of proxies that run on this host, recorded in the work directory by the command that started them. Its owner alone writes
 * there: the directory also holds the key of the token issuer.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RuntimeError } from "./errors.ts";

export interface AdminRecord {
  readonly workDir: string;
  /** `name.namespace` */
  readonly proxy: string;
}

/** Undefined for a name that is none of a proxy: it comes from requests, and becomes part of a path. */
function recordFile({ workDir, proxy }: AdminRecord): string | undefined {
  return /^[\w-][\w.-]{0,506}$/.test(proxy) ? join(workDir, "admin-addresses", proxy) : undefined;
}

/** Records the admin address until disposed. @param address `host:port` @throws RuntimeError SETTINGS_INVALID for a name that is none of a proxy */
export async function recordAdminAddress(record: AdminRecord, address: string): Promise<AsyncDisposable> {
  const file = recordFile(record);
  if (file === undefined) throw new RuntimeError("SETTINGS_INVALID", `${record.proxy} is no name of a proxy`);
  await mkdir(join(record.workDir, "admin-addresses"), { recursive: true, mode: 0o700 });
  await writeFile(file, `${address}\n`, { mode: 0o600 });
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}

/** `host:port`; undefined where none is recorded. */
export async function readAdminAddress(record: AdminRecord): Promise<string | undefined> {
  const file = recordFile(record);
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
