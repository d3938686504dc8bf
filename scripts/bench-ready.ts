/**
 * `pnpm bench:ready [services]`: how long a new xds-server takes to be ready from the snapshot in Redis alone. A mesh of files
 * (2,000 services by default) is brought there by the whole control plane; then NATS, the controllers and the first
 * xds-server are stopped, and new ones are started one after the other. Time counts from the start of the process.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createSeal } from "../packages/bus/src/index.ts";
import { allReady } from "../packages/cli/src/supervise/all-ready.ts";
import { startChild } from "../packages/cli/src/supervise/child-service.ts";
import { type ControlPlane, startControlPlane } from "../packages/cli/src/supervise/control-plane.ts";
import { healthOf } from "../packages/cli/src/supervise/health.ts";
import { delay, noopLogger, until } from "../packages/runtime/src/index.ts";
import { freePorts } from "../packages/servers/src/index.ts";
import { openStore } from "../packages/state/src/index.ts";
import { median } from "../services/xds-server/bench/edit-figures.ts";
import { writeMesh } from "../services/xds-server/bench/table-mesh.ts";

const rounds = 5;
const services = Number(process.argv[2] ?? "2000");
if (!Number.isInteger(services) || services < 1) throw new Error(`${process.argv[2]} is no number of services`);

const work = mkdtempSync(join(tmpdir(), "flotilla-ready-"));
try {
  const config = join(work, "mesh");
  mkdirSync(config);
  writeMesh(config, work, services, 1);
  await using plane = await startControlPlane({
    options: {
      ...{ embedded: false, config, mesh: undefined, networks: undefined, firstPort: await freePorts(20) },
      settings: { LOG_LEVEL: "warn", ...definedSettings() },
      workDir: join(work, "plane"),
    },
    logs: "files",
    onProgress: () => undefined,
  });
  await allReady(plane, 60_000, () => undefined, new AbortController().signal);
  await snapshotHolds(plane, services);
  for (const service of plane.services) await service[Symbol.asyncDispose]();
  await plane.servers.nats?.kill();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) times.push(await timeToReady(plane));
  const each = times.map((ms) => Math.round(ms)).join(", ");
  process.stdout.write(
    `${services} services, snapshot in Redis, NATS and the controllers stopped: ready after ${Math.round(median(times))} ms` +
      ` (${each}); to be reached ≤ 2,000 ms; load ${loadavg()[0]?.toFixed(1)}\n`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Resolves when the snapshot has as many ServiceEntries as there are services. */
async function snapshotHolds(plane: ControlPlane, count: number): Promise<void> {
  const { STORE_URL: url = "", SEAL_KEY_FILE: keyFile = "" } = plane.environment("xds-server");
  await using store = openStore({ url, log: noopLogger, mac: createSeal(readFileSync(keyFile)).mac });
  await until(() => store.state.connected, { withinMs: 10_000, what: "the connection to Redis" });
  const isWhole = async () => {
    const keys = [...((await store.load())?.entries.keys() ?? [])];
    return keys.filter((key) => key.startsWith("config ServiceEntry/")).length >= count;
  };
  await until(isWhole, { withinMs: 60_000, what: `a snapshot of ${count} services` });
}

/** Milliseconds from the start of one more xds-server to its readiness. */
async function timeToReady(plane: ControlPlane): Promise<number> {
  const port = await freePorts(4);
  const healthUrl = `http://127.0.0.1:${port}`;
  const ports = { HEALTH_PORT: port, HTTP_PORT: port + 1, XDS_PORT: port + 2, XDS_TLS_PORT: port + 3 };
  const texts = Object.fromEntries(Object.entries(ports).map(([name, value]) => [name, String(value)]));
  const started = performance.now();
  await using replica = startChild({
    name: "xds-server",
    env: { ...plane.environment("xds-server"), ...texts, POD_NAME: "new" },
    healthUrl,
    logFile: join(plane.layout.workDir, "logs", "new.log"),
  });
  const ready = async () => {
    while ((await healthOf({ healthUrl })).state !== "ready") {
      if (performance.now() - started > 60_000) throw new Error("the new xds-server is not ready after 60 s");
      await delay(10);
    }
    return performance.now() - started;
  };
  return await Promise.race([ready(), replica.ended]);
}

function definedSettings(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
