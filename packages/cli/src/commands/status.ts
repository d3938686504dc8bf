/** `flotilla status [OBJECT]`: what runs, which proxies have what, which objects are refused or not yet everywhere; or all about one. */
import { type IgnoredKind, ignoredText } from "../api/refusals.ts";
import { ask } from "../connection.ts";
import type { status as definition } from "../definitions/insight.ts";
import { describeObject, type ObjectStatus } from "../object-status.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { runningIn } from "../running.ts";
import { formatTable, replicaRows } from "../supervise/service-table.ts";

interface Problem {
  readonly object?: string;
  readonly file?: string;
  readonly line?: number;
  readonly field?: string;
  readonly reason?: string;
}

/** What `/debug/problems` of a controller answers. */
interface Problems {
  readonly problems?: readonly Problem[];
  readonly ignored?: readonly (IgnoredKind & { readonly source: string })[];
}

/** Of one proxy, as `/debug/syncz` has it. */
interface Sync {
  readonly proxy: string;
  readonly resources?: Readonly<
    Record<string, { readonly sent?: string; readonly acked?: string; readonly lastError?: string }>
  >;
}
/** What `/debug/objects` of config-controller answers. */
interface Objects {
  readonly generation: number;
  readonly total: number;
  readonly objects: readonly ObjectStatus[];
}

type Findings = Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>>;

export const status: Run<typeof definition> = async ({ options, operands: { object }, terminal }) => {
  if (object !== undefined) {
    const answer = await ask<ObjectStatus>("config-controller", options, "/debug/objects", { object });
    terminal.print(render(formatOf(options), answer, describeObject));
    return 0;
  }
  const running = runningIn(options.workDir);
  const write = terminal.print;
  write(formatTable(await replicaRows(running)));
  const url = (name: string) => running.services.find((service) => service.name === name)?.healthUrl ?? "";
  const proxies = await page<readonly Sync[]>(`${url("xds-server")}/debug/syncz`);
  write(`\n${proxies?.length ?? 0} proxies`);
  for (const proxy of proxies ?? []) write(`  ${proxy.proxy}  ${syncStates(proxy)}`);
  const objects = await page<Objects>(`${url("config-controller")}/debug/objects?open=true`);
  if (objects !== undefined) {
    const open = objects.objects.length;
    write(
      `\n${objects.total} objects, generation ${objects.generation}: ${objects.total - open} live everywhere they concern`,
    );
    for (const one of objects.objects) write(describeObject(one).replaceAll(/^/gm, "  "));
  }
  for (const controller of ["config-controller", "service-controller"]) {
    const { problems = [], ignored = [] } = (await page<Problems>(`${url(controller)}/debug/problems`)) ?? {};
    if (problems.length > 0) write(`\n${problems.length} refused by ${controller}`);
    for (const problem of problems) write(`  ${describeProblem(problem)}`);
    if (ignored.length > 0) write("");
    for (const { source, ...kind } of ignored) write(`${source}: ${ignoredText(kind)}`);
  }
  const findings = Object.values((await page<Findings>(`${url("xds-server")}/debug/push_status`)) ?? {}).flatMap(
    (objects) => Object.entries(objects),
  );
  if (findings.length > 0) write(`\n${findings.length} conflicts and errors in what proxies get`);
  for (const [object, { message }] of findings) write(`  ${object}  ${message}`);
  return 0;
};

async function page<T>(url: string): Promise<T | undefined> {
  try {
    return (await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).json()) as T;
  } catch {
    // The table above says which service does not answer.
    return undefined;
  }
}

/** Types in the order in which people name them, by the end of their URL. */
const types = {
  cluster: "Cluster",
  listener: "Listener",
  route: "RouteConfiguration",
  endpoint: "ClusterLoadAssignment",
};

function syncStates({ resources = {} }: Sync): string {
  return Object.entries(types)
    .map(([type, suffix]) => {
      const status = Object.entries(resources).find(([url]) => url.endsWith(`.${suffix}`))?.[1];
      if (status?.lastError !== undefined) return `${type}: refused (${status.lastError})`;
      if (status?.sent === undefined) return `${type}: not asked`;
      return `${type}: ${status.sent === status.acked ? "synced" : "sent"}`;
    })
    .join("  ");
}

function describeProblem({ object, file, line, field, reason }: Problem): string {
  const where = file === undefined || file === "" ? "" : `${file}${line === undefined ? "" : `:${line}`} `;
  return `${where}${object ?? ""} ${field ?? ""} ${reason ?? ""}`.replaceAll(/ +/g, " ").trim();
}
