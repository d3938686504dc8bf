/** The table of what runs: every replica and server, with its process, its restarts and where it listens. */
import stringWidth from "string-width";
import { type Ports, portsOf } from "../layout.ts";
import { healthOfService } from "./all-ready.ts";
import type { ControlPlane } from "./control-plane.ts";
import type { Health } from "./health.ts";
import type { RunningService } from "./running-service.ts";
import type { SharedServer } from "./shared-servers.ts";
import type { Run, Supervised } from "./supervised.ts";

export interface TableRow {
  readonly name: string;
  readonly state: string;
  /** Of the process; undefined within this process, or while there is none. */
  readonly pid: number | undefined;
  readonly restarts: number;
  readonly listens: string;
  /** A line below. */
  readonly detail: string;
}

const portNames: Partial<Readonly<Record<keyof Ports, string>>> = {
  xds: "xDS",
  xdsTls: "xDS, TLS",
  http: "debug",
  ca: "gRPC",
  webhook: "HTTPS",
  api: "API",
  console: "page",
};

export async function tableRows({ services, servers, layout }: ControlPlane): Promise<readonly TableRow[]> {
  const health = await Promise.all(services.map(healthOfService));
  return [
    ...Object.values(servers).map(serverRow),
    ...services.map((service, i) => serviceRow(service, layout.ports, health[i] ?? { state: "away", detail: "" })),
  ];
}

function serviceRow(service: RunningService, ports: Ports, health: Health): TableRow {
  const { replica, pid, supervised } = service;
  return {
    ...{ name: replica, pid, restarts: supervised.restarts, listens: listensText(service, ports) },
    state: supervised.run === undefined ? "restarting" : health.state === "away" ? "starting" : health.state,
    detail: [restartText(supervised), health.detail].filter((part) => part !== "").join("; "),
  };
}

function serverRow({ name, pid, port, supervised }: SharedServer): TableRow {
  const state = supervised.run === undefined ? "restarting" : "ready";
  return { name, state, pid, restarts: supervised.restarts, listens: `:${port}`, detail: restartText(supervised) };
}

/** The ports of its clients, which several replicas share, and that of its pages. */
function listensText({ name, ports: own }: RunningService, ports: Ports): string {
  const { clients, health } = portsOf[name];
  const known = clients.filter((client) => ports[client] !== 0);
  const texts = known.map((client) => `:${ports[client]} (${portNames[client] ?? client})`);
  return [...texts, `:${own[health]} (health)`].join(" ");
}

/** Why it was restarted, and when it is started next: points in time, so that the text stays the same meanwhile. */
function restartText({ state, lastEnd }: Supervised<Run>): string {
  if (lastEnd === undefined) return "";
  if (state.kind === "waiting") return `ended: ${lastEnd.reason}; next start at ${clock(state.untilMs)}`;
  return `restarted at ${clock(lastEnd.atMs)}: ${lastEnd.reason}`;
}

function clock(atMs: number): string {
  return new Date(atMs).toTimeString().slice(0, 8);
}

export function formatTable(rows: readonly TableRow[]): string {
  const cells = rows.map(({ name, state, pid, restarts, listens }) => [
    name,
    state,
    pid === undefined ? "-" : String(pid),
    String(restarts),
    listens,
  ]);
  const all = [["NAME", "STATE", "PID", "RESTARTS", "LISTENS ON"], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => stringWidth(row[column] ?? ""))));
  const [header = "", ...lines] = all.map((row) =>
    row
      .map((cell, i) => cell + " ".repeat(Math.max(0, (widths[i] ?? 0) - stringWidth(cell))))
      .join("  ")
      .trimEnd(),
  );
  const withDetails = lines.flatMap((line, i) => {
    const { detail = "" } = rows[i] ?? {};
    return detail === "" ? [line] : [line, `  ${detail}`];
  });
  return [header, ...withDetails].join("\n");
}
