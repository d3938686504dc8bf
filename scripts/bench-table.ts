/**
 * `XDSPROBE=…/xdsprobe pnpm bench:table [row…]`: the table of pushes, a row a run: five processes with real NATS and Redis, a mesh of
 * files, `xdsprobe load` as the proxies. The target and istiod's value on a quiet machine stand beside each figure. Latency counts from
 * before the command that writes the file; CPU is that of xds-server.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { allReady } from "../packages/cli/src/supervise/all-ready.ts";
import { startChild } from "../packages/cli/src/supervise/child-service.ts";
import { type ControlPlane, startControlPlane } from "../packages/cli/src/supervise/control-plane.ts";
import { delay, until } from "../packages/runtime/src/index.ts";
import { freePorts } from "../packages/servers/src/index.ts";
import { median } from "../services/xds-server/bench/edit-figures.ts";
import { reconnect, stuckClient } from "../services/xds-server/bench/own-clients.ts";
import { type ProbeReport, probe } from "../services/xds-server/bench/probe.ts";
import { type Publishing, sincePublishing, stamped, watchPublishing } from "../services/xds-server/bench/publishing.ts";
import { type Row, rows } from "../services/xds-server/bench/table.ts";
import { type MeshFiles, nodes, writeMesh } from "../services/xds-server/bench/table-mesh.ts";
import { measureUnchanged, unchangedMs } from "../services/xds-server/bench/unchanged.ts";

type Figures = Readonly<Record<string, number>>;

interface Bench {
  readonly row: Row;
  readonly work: string;
  readonly files: MeshFiles;
  readonly address: string;
  /** Of xds-server. */
  readonly pid: number;
  /** Of all its replicas. */
  readonly pids: readonly number[];
  readonly healthUrl: string;
  readonly publishing: Publishing;
  /** Directory with the clients' certificate. */
  readonly certificates?: string;
}

const cli = join(import.meta.dirname, "../packages/cli/bin/flotilla.ts");
const settings = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);
const binary = settings["XDSPROBE"] ?? "";
if (binary === "") throw new Error("XDSPROBE names no xdsprobe binary");
const asked = process.argv.slice(2);
const unknown = asked.filter((id) => !rows.some((row) => row.id === id));
if (unknown.length > 0)
  throw new Error(`no row ${unknown.join(", ")}; there are ${rows.map(({ id }) => id).join(", ")}`);
for (const row of asked.length === 0 ? rows : rows.filter(({ id }) => asked.includes(id))) await runRow(row);

async function runRow(row: Row): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), "flotilla-bench-"));
  const config = join(work, "mesh");
  mkdirSync(config);
  const files = writeMesh(config, work, row.services, row.views);
  const options = {
    embedded: false,
    config,
    mesh: undefined,
    networks: undefined,
    settings: { LOG_LEVEL: "warn", ...settings },
    firstPort: await freePorts(20),
    workDir: join(work, "plane"),
  };
  try {
    await using plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
    await allReady(plane, 60_000, () => undefined, new AbortController().signal);
    await using second = row.replicas === 2 ? await secondReplica(plane) : undefined;
    const server = serverOf(plane);
    const both = second && { address: `${server.address},${second.address}`, pids: [server.pid, second.pid] };
    const secure = row.mutualTls === true ? await certified(plane, work) : undefined;
    await using publishing = await watchPublishing(plane.environment("xds-server")["BUS_URL"] ?? "");
    print(row, await measure({ row, work, files, pids: [server.pid], ...server, ...both, ...secure, publishing }));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function serverOf({ services, layout }: ControlPlane) {
  const server = services.find(({ name }) => name === "xds-server");
  if (server?.pid === undefined) throw new Error("xds-server has no process of its own");
  return { pid: server.pid, healthUrl: server.healthUrl, address: `127.0.0.1:${layout.ports.xds}` };
}

/** The secure port, and a certificate of ca to show there. */
async function certified({ layout }: ControlPlane, work: string) {
  const certificates = join(work, "certificates");
  const workDir = ["--work-dir", join(work, "plane"), "--namespace", "default", "--service-account", "default"];
  const at = ["--ca", `127.0.0.1:${layout.ports.ca}`, "--out", certificates, "--once"];
  await promisify(execFile)(process.execPath, [cli, "certificate", ...workDir, ...at]);
  return { certificates, address: `127.0.0.1:${layout.ports.xdsTls}` };
}

/** One more xds-server on ports of its own. */
async function secondReplica(plane: ControlPlane) {
  const port = await freePorts(5);
  const [health, http, xds, tls] = [port, port + 1, port + 2, port + 3].map(String) as [string, string, string, string];
  const ports = { HEALTH_PORT: health, HTTP_PORT: http, XDS_PORT: xds, XDS_TLS_PORT: tls, POD_NAME: "second" };
  const healthUrl = `http://127.0.0.1:${health}`;
  const env = { ...plane.environment("xds-server"), ...ports };
  const child = startChild({ name: "xds-server", env, healthUrl, logFile: undefined });
  if (child.pid === undefined) throw new Error("the second xds-server has no process of its own");
  const isReady = () =>
    fetch(`${healthUrl}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, { withinMs: 30_000, what: "the second xds-server to be ready" });
  return { address: `127.0.0.1:${xds}`, pid: child.pid, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

async function measure(bench: Bench): Promise<Figures> {
  const { row, address } = bench;
  if (row.reconnect === true) {
    const { bytes, resources } = await reconnect(address, row.proxies, () => bench.files.editRoute("again"));
    return { "kB a proxy": bytes / row.proxies / 1000, "resources a proxy": resources / row.proxies };
  }
  const rssNow = () => bench.pids.reduce((sum, pid) => sum + rssMb(pid), 0);
  const rssBefore = rssNow();
  using _stuck = row.stuck === true ? stuckClient(address) : undefined;
  const annotated = row.change === "annotations" ? measureUnchanged(bench, row.services - 1) : undefined;
  const delivered = await deliveries(bench.healthUrl);
  const report = await runProbe(bench);
  const figures = { ...connectFigures(row, report, rssBefore), ...changeFigures(bench, report), ...(await annotated) };
  for (const [text, times] of Object.entries(report.errors ?? {})) process.stdout.write(`${times} × ${text}\n`);
  const { count, seconds } = await deliveries(bench.healthUrl);
  const event = { "event → last answer, mean, ms": ((seconds - delivered.seconds) * 1000) / (count - delivered.count) };
  await delay(20_000);
  return { ...figures, ...(row.triggers > 0 && event), "RSS after they left, × before": rssNow() / rssBefore };
}

function runProbe({ row, work, files, address, pids, certificates }: Bench): Promise<ProbeReport> {
  const template = join(work, "nodes.json");
  writeFileSync(template, JSON.stringify(nodes(row.views)));
  const commands = { route: files.routeEdit, endpoint: files.endpointEdit, annotations: undefined, none: undefined };
  const triggerCommand = commands[row.change];
  return probe({
    ...{ binary, address, count: row.proxies, ramp: row.ramp, form: row.form, template, pids },
    triggers: row.triggers,
    ...(certificates !== undefined && { certificates }),
    ...(triggerCommand !== undefined && { triggerCommand: stamped(triggerCommand, stampFile(work)) }),
    hold: row.change === "annotations" ? `${unchangedMs + 2_000}ms` : "3s",
    syncTimeout: "4m",
    out: join(work, "report.json"),
  });
}

function connectFigures({ proxies }: Row, { allSyncedMs, server, errors }: ProbeReport, rssBefore: number): Figures {
  return {
    "all synced, s": allSyncedMs / 1000,
    "CPU a proxy to connect, ms": (server.cpuSyncSeconds * 1000) / proxies,
    "streams a second": (proxies * 1000) / allSyncedMs,
    "stream errors at the clients": Object.values(errors ?? {}).reduce((sum, count) => sum + count, 0),
    "RSS before, MB": rssBefore,
    "peak RSS, MB": server.rssPeakMiB * 1.048576,
    "RSS a proxy, kB": ((server.rssEndMiB * 1.048576 - rssBefore) * 1000) / proxies,
  };
}

function stampFile(work: string): string {
  return join(work, "stamps");
}

function changeFigures({ row, work, publishing }: Bench, report: ProbeReport): Figures {
  const { push, pushCompletion, triggers, server } = report;
  if (row.triggers === 0 || triggers === undefined) return {};
  const published = publishing.times(row.change === "endpoint" ? "endpoints" : "config");
  const since = sincePublishing(triggers, published, stampFile(work));
  const bytes = triggers.map(({ received }) => Object.values(received).reduce((sum, type) => sum + type.bytes, 0));
  return {
    "p50, ms": median(since.map(({ p50Ms }) => p50Ms)),
    "p99, ms": median(since.map(({ p99Ms }) => p99Ms)),
    "with the source, p50, ms": push.p50Ms,
    "with the source, p99, ms": push.p99Ms,
    "with the source, last proxy, ms": pushCompletion.p50Ms,
    "CPU a change, s": server.cpuPerTriggerSeconds,
    "MB a change": median(bytes) / 1e6,
  };
}

function print(row: Row, figures: Figures): void {
  const { id, work, services, proxies, form } = row;
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(`\n${id}: ${work}; ${services} services, ${proxies} × ${form}; load average ${load}\n`);
  const line = (figure: string) => ({
    measured: Math.round((figures[figure] ?? Number.NaN) * 100) / 100,
    reach: row.reach[figure] ?? "",
    istiod: row.istiod[figure] ?? "",
  });
  console.table(Object.fromEntries(Object.keys(figures).map((figure) => [figure, line(figure)])));
}

/** As xds-server measured them: from the change at its source to the last acknowledgement. */
async function deliveries(healthUrl: string): Promise<{ readonly count: number; readonly seconds: number }> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^flotilla_change_delivery_seconds_${name}\\{.*\\} (\\S+)`, "gm"))].reduce(
      (all, [, value]) => all + Number(value),
      0,
    );
  return { count: sum("count"), seconds: sum("sum") };
}

function rssMb(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return (Number(found?.[1] ?? 0) * 1024) / 1e6;
}
