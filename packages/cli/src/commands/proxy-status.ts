/** `flotilla proxy-status [PROXY]`: whether proxies have acknowledged what they were sent. */
import { shownType } from "@flotilla/proto";
import { ask } from "../connection.ts";
import type { proxyStatus as definition } from "../definitions/proxies.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";

/** The part of an answer of xds-server's `/debug/syncz` that is shown. */
interface ProxySync {
  readonly proxy: string;
  readonly cluster_id?: string;
  readonly istio_version?: string;
  readonly resources: Readonly<Record<string, TypeSync>>;
}
interface TypeSync {
  readonly sent?: string;
  readonly acked?: string;
  readonly sentTime?: string;
  readonly version?: string;
  readonly lastError?: string;
}

const shown = ["cds", "lds", "eds", "rds", "ecds"] as const;

export const proxyStatus: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const all = await ask<readonly ProxySync[]>("xds-server", options, "/debug/syncz");
  const sorted = [...all].sort((a, b) => (a.proxy < b.proxy ? -1 : 1));
  const found = operands.proxy === undefined ? sorted : sorted.filter(({ proxy }) => proxy === operands.proxy);
  if (operands.proxy !== undefined && found.length === 0)
    throw new CliError("CLI_ABSENT", `no proxy ${operands.proxy} is connected${hintOf(operands.proxy, sorted)}`);
  const format = formatOf(options);
  const describe = (proxies: readonly ProxySync[]) =>
    operands.proxy === undefined ? overview(proxies, format === "wide") : proxies.map(detail).join("\n\n");
  terminal.print(render(format, found, describe));
  return found.some(({ resources }) => Object.values(resources).some(isRejected)) ? 3 : 0;
};

/** The namespace may be what is left out. */
function hintOf(given: string, all: readonly ProxySync[]): string {
  const meant = all.map(({ proxy }) => proxy).filter((proxy) => proxy.startsWith(`${given}.`));
  if (meant.length > 0) return `; did you mean ${meant.slice(0, 3).join(" or ")}?`;
  return "; `flotilla proxy-status` lists those that are";
}

function overview(proxies: readonly ProxySync[], withReasons: boolean): string {
  const heads = ["NAME", "CLUSTER", ...shown.map((type) => type.toUpperCase()), "VERSION"];
  const rows = proxies.map((one) => {
    const { proxy, cluster_id: cluster = "", istio_version: version = "", resources } = one;
    const states = shown.map((type) => stateOf(typesOf(one).get(type)));
    const reasons = Object.values(resources).flatMap(({ lastError }) => lastError ?? []);
    return [proxy, cluster, ...states, version, ...(withReasons ? [reasons.join("; ")] : [])];
  });
  return columns([[...heads, ...(withReasons ? ["REJECTED BECAUSE"] : [])], ...rows]);
}

function detail(one: ProxySync): string {
  const rows = [...typesOf(one)].map(([type, sync]) => [
    type.toUpperCase(),
    stateOf(sync),
    sync.version ?? "",
    sync.sentTime ?? "",
    sync.lastError ?? "",
  ]);
  const { proxy, cluster_id: cluster = "", istio_version: version = "" } = one;
  const heads = ["TYPE", "STATE", "VERSION", "SENT", "REJECTED BECAUSE"];
  return `${[proxy, cluster, version].filter((text) => text !== "").join(", ")}\n${columns([heads, ...rows])}`;
}

function typesOf({ resources }: ProxySync): ReadonlyMap<string, TypeSync> {
  return new Map(Object.entries(resources).map(([typeUrl, sync]) => [shownType(typeUrl), sync]));
}

function stateOf(sync: TypeSync | undefined): string {
  if (sync?.sent === undefined) return "NOT SENT";
  if (isRejected(sync)) return "ERROR";
  return sync.sent === sync.acked ? "SYNCED" : "STALE";
}

function isRejected({ lastError }: TypeSync): boolean {
  return lastError !== undefined;
}
