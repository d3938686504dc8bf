/**
 * `pnpm bench:faults [FAULT…] [--stop-seconds N]`: five services as processes, a real NATS and Redis, two real Envoys under load, and one fault after the
 * other: a process killed, stopped, a store wiped, its disk full, everything at once. Each row has the requests that failed, the time until a
 * change that was made during the fault is in effect once everything is back, and what was lost. A FAULT is a part of a row's name. Addresses are
 * those of `npm start`; the rows with a full disk need the right to mount a tmpfs.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  allReady,
  type ControlPlane,
  copySample,
  type MeshFolder,
  startControlPlane,
  startFleet,
} from "@flotilla/cli/testing";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";
import { type StoreName, Stores, storeNames } from "../src/power-cuts/stores.ts";
import { RequestLoad } from "./faults/request-load.ts";

const { values, positionals } = parseArgs({
  options: { "stop-seconds": { type: "string", default: "60" } },
  allowPositionals: true,
});
const stopMs = Number(values["stop-seconds"]) * 1_000;
const services = ["ca", "config-controller", "service-controller", "xds-server", "webhook"] as const;
type ServiceName = (typeof services)[number];

interface World {
  readonly plane: ControlPlane;
  readonly stores: Stores;
  readonly mesh: MeshFolder;
  readonly load: RequestLoad;
  readonly disks: string;
}

/** Begins the fault; resolves to what ends it. */
type Fault = (world: World) => Promise<() => Promise<void>>;

const pidOf = ({ plane, stores }: World, name: ServiceName | StoreName): number => {
  const pid =
    name === "nats" || name === "redis" ? stores.pid(name) : plane.services.find((one) => one.name === name)?.pid;
  if (pid === undefined) throw new Error(`${name} does not run`);
  return pid;
};
const ready = ({ plane }: World) => allReady(plane, 120_000, () => undefined, new AbortController().signal);

const killed =
  (...names: readonly (ServiceName | StoreName)[]): Fault =>
  async (world) => {
    const before = new Map<ServiceName, number>();
    for (const name of names)
      if (name === "nats" || name === "redis") await world.stores.kill(name);
      else {
        before.set(name, pidOf(world, name));
        process.kill(pidOf(world, name), "SIGKILL");
      }
    const isStartedAgain = ([name, pid]: readonly [ServiceName, number]): boolean => {
      const now = world.plane.services.find((one) => one.name === name)?.pid;
      return now !== undefined && now !== pid;
    };
    return async () => {
      for (const name of storeNames) if (names.includes(name)) await world.stores.start(name);
      // A process that was killed counts as ready until its launcher has noticed, which takes seconds on a busy machine.
      await until(() => [...before].every(isStartedAgain), { withinMs: 60_000, what: "the next processes" });
      await ready(world);
    };
  };

const stopped =
  (name: ServiceName | StoreName): Fault =>
  async (world) => {
    const pid = pidOf(world, name);
    process.kill(pid, "SIGSTOP");
    await delay(stopMs);
    return async () => void process.kill(pid, "SIGCONT");
  };

const wiped =
  (name: StoreName): Fault =>
  async (world) => {
    await world.stores.kill(name);
    world.stores.lose(name, "wiped");
    return () => world.stores.start(name);
  };

const fullDisk =
  (name: StoreName): Fault =>
  async (world) => {
    const filler = join(world.disks, name, "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4k"]);
    await delay(10_000);
    return async () => {
      rmSync(filler);
      // As a supervisor does: nats-server 2.15.1 may write no stream again that it once could not write (decision 0263).
      if (name === "nats") await world.stores.kill(name);
      // A server whose disk was full may have ended.
      if (world.stores.pid(name) === undefined) await world.stores.start(name);
    };
  };

const faults: readonly (readonly [string, Fault])[] = [
  ["nothing", async () => async () => undefined],
  ...[...services, ...storeNames].map((name) => [`${name} killed`, killed(name)] as const),
  ...storeNames.map((name) => [`${name} wiped`, wiped(name)] as const),
  ...storeNames.map((name) => [`disk of ${name} full for 10 s`, fullDisk(name)] as const),
  ["everything killed at once", killed(...services, ...storeNames)],
  ...[...services, ...storeNames].map((name) => [`${name} stopped for ${stopMs / 1_000} s`, stopped(name)] as const),
];

const workDir = mkdtempSync(join(tmpdir(), "flotilla-faults-"));
const disks = join(workDir, "servers");
const mounted: string[] = [];
try {
  for (const name of storeNames) mountSmallDisk(join(disks, name));
  await main();
} finally {
  for (const path of mounted) spawnSync("umount", [path]);
  rmSync(workDir, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const envoy = await findServer("envoy", { env: process.env });
  const mesh = copySample(workDir);
  await using stores = await Stores.start(disks, Math.random);
  const settings = { BUS_URL: stores.url("nats"), STORE_URL: stores.url("redis") };
  const options = { embedded: false, config: mesh.path, mesh: undefined, networks: undefined, settings, workDir };
  const firstPort = await freePorts(12);
  await using plane = await startControlPlane({
    options: { ...options, firstPort },
    logs: "files",
    onProgress: () => undefined,
  });
  await allReady(plane, 120_000, () => undefined, new AbortController().signal);
  await using fleet = await startFleet(envoy, plane.layout);
  await Promise.all([fleet.client.ready(60_000), fleet.server.ready(60_000)]);
  await using load = new RequestLoad();
  const world = { plane, stores, mesh, load, disks };
  process.stdout.write(
    "| fault | requests | failed | ready again, s after it began | in effect, s after that | lost | load |\n|---|---|---|---|---|---|---|\n",
  );
  let version = "v1";
  for (const [name, fault] of faults) {
    if (positionals.length > 0 && !positionals.some((part) => name.includes(part))) continue;
    if (name.startsWith("disk") && mounted.length === 0) continue;
    version = version === "v1" ? "v2" : "v1";
    process.stdout.write(`${await row(world, name, fault, version)}\n`);
  }
}

async function row(world: World, name: string, fault: Fault, version: string): Promise<string> {
  const { load, mesh } = world;
  await delay(2_000);
  const before = load.counts();
  const began = performance.now();
  const end = await fault(world);
  mesh.routeAllTo(version);
  await delay(1_000);
  await end();
  const since = performance.now();
  await until(() => load.answersWith(version), { withinMs: 180_000, what: `${version} after ${name}`, everyMs: 20 });
  const [readyAfter, inEffectAfter] = [since - began, performance.now() - since].map((ms) => (ms / 1_000).toFixed(1));
  await ready(world);
  await delay(2_000);
  const after = load.counts();
  const requests = [after.answered - before.answered, after.failed - before.failed];
  const cells = [name, ...requests, readyAfter, inEffectAfter, await lost(world), loadavg()[0]?.toFixed(0)];
  return `| ${cells.join(" | ")} |`;
}

/** The losses that config-controller reports on its readiness page. */
async function lost({ plane }: World): Promise<string> {
  const { healthUrl } = plane.services.find(({ name }) => name === "config-controller") ?? { healthUrl: "" };
  const page = (await (await fetch(`${healthUrl}/ready`)).json()) as {
    readonly conditions?: readonly { readonly name: string }[];
  };
  const names = (page.conditions ?? []).map(({ name }) => name).filter((name) => name.startsWith("lost"));
  return names.length === 0 ? "nothing" : names.join(", ");
}

function mountSmallDisk(path: string): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, ".keep"), "");
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", path]).status === 0) mounted.push(path);
}
