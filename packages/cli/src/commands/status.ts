/** `flotilla status`: what runs, which proxies have what, and which objects are refused. */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { paths } from "../layout.ts";
import { defaultWorkDir } from "../options.ts";
import type { RunningService } from "../supervise/child-service.ts";
import { formatTable, tableRows } from "../supervise/service-table.ts";

interface Running {
  readonly services: readonly Pick<RunningService, "name" | "healthUrl" | "pid">[];
}
interface Problem {
  readonly object?: string;
  readonly file?: string;
  readonly line?: number;
  readonly field?: string;
  readonly reason?: string;
}
type Sync = Readonly<Record<string, string>>;

export const status: Command = async (args, env) => {
  const { values } = parseArgs({
    args: [...args],
    options: { "work-dir": { type: "string", default: defaultWorkDir(env) } },
  });
  const { services } = readState(values["work-dir"]);
  const write = (text: string) => process.stdout.write(`${text}\n`);
  write(formatTable(await tableRows(services as readonly RunningService[], () => "")));
  const url = (name: string) => services.find((service) => service.name === name)?.healthUrl ?? "";
  const proxies = await page<readonly Sync[]>(`${url("xds-server")}/debug/syncz`);
  write(`\n${proxies?.length ?? 0} proxies`);
  for (const proxy of proxies ?? []) write(`  ${proxy["proxy"]}  ${syncStates(proxy)}`);
  for (const controller of ["config-controller", "service-controller"]) {
    const problems =
      (await page<{ readonly problems: readonly Problem[] }>(`${url(controller)}/debug/problems`))?.problems ?? [];
    if (problems.length > 0) write(`\n${problems.length} refused by ${controller}`);
    for (const problem of problems) write(`  ${describeProblem(problem)}`);
  }
  return 0;
};

function readState(workDir: string): Running {
  try {
    return JSON.parse(readFileSync(paths({ workDir }).state, "utf8")) as Running;
  } catch (cause) {
    throw new CliError("CLI_NOT_RUNNING", `no control plane runs with the work directory ${workDir}`, { cause });
  }
}

async function page<T>(url: string): Promise<T | undefined> {
  try {
    return (await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).json()) as T;
  } catch {
    // The table above says which service does not answer.
    return undefined;
  }
}

function syncStates(proxy: Sync): string {
  return ["cluster", "listener", "route", "endpoint"]
    .map((type) => {
      const [sent, acknowledged, error] = [proxy[`${type}_sent`], proxy[`${type}_acked`], proxy[`${type}_error`]];
      if (error !== undefined) return `${type}: refused (${error})`;
      return `${type}: ${sent === undefined ? "not asked" : sent === acknowledged ? "synced" : "sent"}`;
    })
    .join("  ");
}

function describeProblem({ object, file, line, field, reason }: Problem): string {
  const where = file === undefined ? "" : `${file}${line === undefined ? "" : `:${line}`} `;
  return `${where}${object ?? ""} ${field ?? ""} ${reason ?? ""}`.replaceAll(/ +/g, " ").trim();
}
