/**
 * `pnpm bench [--services N] [--clients N,N…] [--form delta|sotw]`: from the writing of a file to the last ACK at N
 * simulated proxies, over five processes with real NATS and Redis; memory of each service and bytes sent beside it.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allReady, type ControlPlane, startControlPlane } from "../packages/cli/src/supervise/control-plane.ts";
import { freePorts } from "../packages/servers/src/index.ts";
import { meshObjects, virtualServiceOf } from "../services/xds-server/bench/mesh-objects.ts";
import { Fleet } from "../services/xds-server/bench/simulated-fleet.ts";

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
writeObjects("services.yaml", meshObjects(services));
const settings = Object.fromEntries(
  Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);
const firstPort = await freePorts(20);
const options = {
  embedded: false,
  config,
  mesh: undefined,
  networks: undefined,
  settings: { ...settings, LOG_LEVEL: "warn" },
  firstPort,
  workDir,
  flags: new Set<string>(),
};

{
  await using plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  await allReady(plane, 60_000, () => undefined, new AbortController().signal);
  for (const clients of values.clients.split(",").map(Number))
    process.stdout.write(`${JSON.stringify(await measure(plane, clients))}\n`);
}
rmSync(workDir, { recursive: true, force: true });
rmSync(config, { recursive: true, force: true });

async function measure(plane: ControlPlane, clients: number) {
  const cpuBefore = cpuSeconds(plane);
  const connectStarted = performance.now();
  await using fleet = await Fleet.connect({ address: `127.0.0.1:${plane.layout.ports.xds}`, clients, form });
  const syncedMs = performance.now() - connectStarted;
  const cpuSynced = cpuSeconds(plane);
  const rounds: { readonly p50: number; readonly last: number; readonly bytes: number }[] = [];
  for (let round = 0; round < 3; round++) {
    const mark = `mark-${clients}-${round}`;
    const awaited = fleet.awaitMark(mark, 30_000);
    const started = performance.now();
    writeObjects("route.yaml", [{ ...virtualServiceOf(1, mark), metadata: { name: "bench", namespace: "mesh" } }]);
    const { times, bytes } = await awaited;
    const sorted = times.map((time) => time - started).sort((a, b) => a - b);
    rounds.push({ p50: Math.round(sorted[sorted.length >> 1] ?? 0), last: Math.round(sorted.at(-1) ?? 0), bytes });
  }
  const best = rounds.toSorted((a, b) => a.last - b.last)[1];
  return {
    services,
    form,
    clients,
    allSyncedMs: Math.round(syncedMs),
    connectCpuMsPerProxy: Math.round(((cpuSynced - cpuBefore) * 1000) / clients),
    writeToReceivedP50Ms: best?.p50,
    writeToLastReceivedMs: best?.last,
    bytesPerEdit: best?.bytes,
    cpuPerEditSeconds: Math.round(((cpuSeconds(plane) - cpuSynced) / 3) * 100) / 100,
    rssMb: Object.fromEntries(plane.services.map(({ name, pid }) => [name, pid === undefined ? 0 : rssMb(pid)])),
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

function writeObjects(name: string, objects: readonly unknown[]): void {
  const file = join(config, name);
  writeFileSync(`${file}.new`, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  renameSync(`${file}.new`, file);
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
