/** Logs of services that write to their output: pods of a cluster, by its API server, and containers of Docker Compose, by its command. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { KubeApi } from "@flotilla/kube-api";
import { CliError } from "../errors.ts";
import { services } from "../layout.ts";

export interface StreamedLogsOptions {
  /** Only these services; all when it is empty. */
  readonly names: readonly string[];
  readonly follow: boolean;
  /** Seconds; undefined for all there is. */
  readonly sinceSeconds: number | undefined;
}

/** Called with each line as it comes. */
export type OnLine = (replica: string, raw: string) => void;

interface Pod {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
}

const labelOf = "app.kubernetes.io/name";

/**
 * Resolves when all logs were read, or `stop` fires where they are followed.
 * @throws KubeError; CliError CLI_ABSENT where there is no pod
 */
export async function readPodLogs(
  { api, namespace }: { readonly api: Pick<KubeApi, "get" | "textLines">; readonly namespace: string },
  options: StreamedLogsOptions,
  onLine: OnLine,
  stop: AbortSignal,
): Promise<void> {
  const wanted = (options.names.length === 0 ? services : options.names).map((name) => `flotilla-${name}`);
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const selector = encodeURIComponent(`${labelOf} in (${wanted.join(",")})`);
  const list = await api.get<{ readonly items: readonly Pod[] }>(`${pods}?labelSelector=${selector}`);
  const found = list?.items ?? [];
  if (found.length === 0)
    throw new CliError("CLI_ABSENT", `no pod of ${wanted.join(", ")} in namespace ${namespace}: -n names another one`);
  await Promise.all(
    found.map(async ({ metadata: { name, labels = {} } }) => {
      const query = new URLSearchParams({ container: labels[labelOf]?.replace(/^flotilla-/, "") ?? "" });
      if (options.follow) query.set("follow", "true");
      if (options.sinceSeconds !== undefined) query.set("sinceSeconds", String(options.sinceSeconds));
      for await (const line of api.textLines(`${pods}/${name}/log?${query}`, stop)) onLine(name, line);
    }),
  );
}

/** `docker compose` of the present directory. @throws CliError CLI_FAILED with what it printed */
export async function readComposeLogs(
  { names, follow, sinceSeconds }: StreamedLogsOptions,
  env: NodeJS.ProcessEnv,
  onLine: OnLine,
  stop: AbortSignal,
): Promise<void> {
  const args = [
    ...["compose", "logs", "--no-color"],
    ...(follow ? ["--follow"] : []),
    ...(sinceSeconds === undefined ? [] : ["--since", `${sinceSeconds}s`]),
    ...(names.length === 0 ? services : names),
  ];
  const child = spawn("docker", args, { env, stdio: ["ignore", "pipe", "pipe"], signal: stop });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  const ended = once(child, "close").then(
    ([code]) => (code === 0 ? undefined : Buffer.concat(errors).toString().trim() || `it ended with ${code}`),
    (error: Error) => error.message,
  );
  for await (const line of createInterface({ input: child.stdout })) {
    const [, replica = "", raw = line] = /^(\S+)\s+\| ?(.*)$/.exec(line) ?? [];
    onLine(replica, raw);
  }
  const failure = await ended;
  if (failure !== undefined && !stop.aborted) throw new CliError("CLI_FAILED", `docker compose logs: ${failure}`);
}
