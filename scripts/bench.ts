/**
 * `pnpm bench [--services N] [--clients N,N…] [--form delta|sotw]`: from the writing of a file to the last
 * acknowledgement at N proxies, over five processes with real NATS and Redis; CPU, memory of each service and bytes sent
 * beside it. The proxies are `xdsprobe load` where XDSPROBE names its binary, else simulated in this process.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allReady } from "../packages/cli/src/supervise/all-ready.ts";
import { type ControlPlane, startControlPlane } from "../packages/cli/src/supervise/control-plane.ts";
import { freePorts } from "../packages/servers/src/index.ts";
import { type EditRun, editsPerRun } from "../services/xds-server/bench/edit-figures.ts";
import { meshObjects, virtualServiceOf } from "../services/xds-server/bench/mesh-objects.ts";
import { probeRun } from "../services/xds-server/bench/probe-run.ts";
import { simulatedRun } from "../services/xds-server/bench/simulated-fleet.ts";

const { values } = parseArgs({
  options: {
    services: { type: "string", default: "100" },
    clients: { type: "string", default: "1,100,1000" },
    form: { type: "string", default: "delta" },
  },
});
const services = Number(values.services);
const form = values.form === "sotw" ? "sotw" : "delta";
const workDir = mkdtempSync(join(tmpdir(), "flotilla-bench-"));
const config = mkdtempSync(join(tmpdir(), "flotilla-bench-mesh-"));
writeFileSync(
  join(config, "services.yaml"),
  meshObjects(services)
    .map((object) => JSON.stringify(object))
    .join("\n---\n"),
);
writeFileSync(join(config, "route.yaml"), JSON.stringify(virtualServiceOf(1, "none")));

const settings = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);
const options = {
  embedded: false,
  config,
  mesh: undefined,
  networks: undefined,
  settings: { ...settings, LOG_LEVEL: "warn" },
  firstPort: await freePorts(20),
  workDir,
};

try {
  await using plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  await allReady(plane, 60_000, () => undefined, new AbortController().signal);
  for (const clients of values.clients.split(",").map(Number)) console.table(await measure(plane, clients));
} finally {
  rmSync(workDir, { recursive: true, force: true });
  rmSync(config, { recursive: true, force: true });
}

async function measure(plane: ControlPlane, clients: number) {
  const run: EditRun = { address: `127.0.0.1:${plane.layout.ports.xds}`, clients, form, config, workDir };
  const cpuBefore = cpuSeconds(plane);
  const figures = await (settings["XDSPROBE"] === undefined ? simulatedRun(run) : probeRun(settings["XDSPROBE"], run));
  const memory = plane.services.map(({ name, pid }) => [`RSS of ${name}, MB`, pid === undefined ? 0 : rssMb(pid)]);
  return {
    services,
    proxies: `${clients} × ${form}, ${figures.proxies}`,
    "all synced, ms": Math.round(figures.allSyncedMs),
    "file written → acknowledged, p50, ms": Math.round(figures.p50Ms),
    "file written → last acknowledged, ms": Math.round(figures.lastMs),
    "bytes per edit and proxy": Math.round(figures.bytesPerEdit / clients),
    [`CPU of all services for connecting and ${editsPerRun} edits, s`]:
      Math.round((cpuSeconds(plane) - cpuBefore) * 100) / 100,
    ...Object.fromEntries(memory),
    "load average": Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function rssMb(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(found?.[1] ?? 0) / 1024);
}

/** User and system time of all services, in seconds (clock ticks of 10 ms). */
function cpuSeconds({ services: running }: ControlPlane): number {
  return running.reduce((sum, { pid }) => {
    if (pid === undefined) return sum;
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) / 100;
  }, 0);
}
