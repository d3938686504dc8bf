/** The facts that `flotilla check` evaluates: of this host, and of the services where a control plane runs. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import { ask, type Connection, requestAt, type ServiceAddress, serviceAddresses } from "../connection.ts";
import { CliError } from "../errors.ts";
import type { CertificateFacts, HostFacts, ReplicaFacts } from "./checks.ts";

export async function hostFacts(workDir: string): Promise<HostFacts> {
  return {
    ...{ node: process.version, memoryBytes: totalmem(), workDir },
    openFiles: openFiles(),
    workDirProblem: await workDirProblem(workDir),
  };
}

/** The soft limit, as Node's report has it. */
function openFiles(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : undefined;
}

/** The directory, or the nearest one above it that is there, must be writable. */
async function workDirProblem(workDir: string): Promise<string | undefined> {
  for (let at = workDir; ; at = dirname(at)) {
    const found = await stat(at).catch(() => undefined);
    if (found === undefined && dirname(at) !== at) continue;
    if (found?.isDirectory() !== true) return `${at} is no directory`;
    return access(at, constants.W_OK).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => `${at} cannot be written (${error.code})`,
    );
  }
}

/** None where no control plane is named or recorded. */
export async function replicaFacts(connection: Connection): Promise<readonly ReplicaFacts[]> {
  let addresses: readonly ServiceAddress[];
  try {
    addresses = serviceAddresses(connection);
  } catch (error) {
    if (error instanceof CliError && error.code === "CLI_NOT_RUNNING") return [];
    throw error;
  }
  return Promise.all(addresses.map((address) => factsOf(address, connection)));
}

interface ReadyPage {
  readonly ready: boolean;
  readonly conditions: readonly { readonly name: string; readonly detail: string }[];
}

async function factsOf(
  { name: service, replica: name = service, url }: ServiceAddress,
  connection: Connection,
): Promise<ReplicaFacts> {
  const get = (path: string) => requestAt(url, { service, path, method: "GET" }, connection);
  try {
    const [ready, version] = await Promise.all([get("/ready"), get("/version")]);
    const page = (await ready.json()) as ReadyPage;
    const stated = Date.parse(ready.headers.get("date") ?? "");
    return {
      ...{ name, url, ready: page.ready, version: ((await version.json()) as { readonly version: string }).version },
      detail: page.conditions.map((one) => `${one.name}: ${one.detail}`).join(", "),
      // The header has whole seconds.
      ...(Number.isNaN(stated) ? {} : { clockAheadMs: stated + 500 - Date.now() }),
    };
  } catch (error) {
    if (error instanceof CliError || error instanceof SyntaxError) return { name, url };
    throw error;
  }
}

interface CaPage {
  readonly signing: CertificateFacts | null;
  readonly roots: readonly CertificateFacts[];
}

/** None where ca does not answer, which its own check reports. */
export async function certificateFacts(connection: Connection): Promise<readonly CertificateFacts[]> {
  try {
    const { signing, roots } = await ask<CaPage>("ca", connection, "/debug/caz");
    const all = [...(signing === null ? [] : [signing]), ...roots];
    return [...new Map(all.map(({ name, daysLeft }) => [`${name} ${daysLeft}`, { name, daysLeft }])).values()];
  } catch (error) {
    if (error instanceof CliError) return [];
    throw error;
  }
}
