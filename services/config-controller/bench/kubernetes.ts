/**
 * `pnpm bench:kubernetes [--objects N] [--seconds N] [--main FILE] [--profile DIRECTORY]`: 10,000 VirtualServices in a real API server; from the start of
 * config-controller to ready, memory, 200 changes a second for a minute, a restart with nothing changed, and what it writes to
 * the API server when nothing happens. Needs a kube-apiserver, as the tests find it. `--main`: bin/main.ts of another checkout,
 * to compare with; `--profile`: where its CPU profiles go. The writers, the API server and NATS share the machine: config-controller's own CPU and stalls stand apart.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connectBus, filters, subscribe } from "@flotilla/bus";
import { KubeError, loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, memoryEnvironment, noopLogger, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";
import { define, fill, pathOf, virtualService } from "./kubernetes-objects.ts";
import type { Vitals } from "./vitals.ts";

const { values } = parseArgs({
  options: {
    objects: { type: "string", default: "10000" },
    seconds: { type: "string", default: "60" },
    main: { type: "string", default: fileURLToPath(new URL("../bin/main.ts", import.meta.url)) },
    profile: { type: "string" },
  },
});
const [objects, seconds] = [Number(values.objects), Number(values.seconds)];
const changesPerSecond = 200;
const vitals = fileURLToPath(new URL("./vitals.ts", import.meta.url));
const profiling = values.profile === undefined ? [] : ["--cpu-prof", "--cpu-prof-dir", values.profile];
const { env } = process;

await using server = await startKubeApiserver(env);
if (server === undefined) throw new Error(whyNoApiserver);
const { api, kubeconfig } = server;
const directory = mkdtempSync(join(tmpdir(), "flotilla-kubernetes-"));
await using nats = await startNats({ env, directory });
const stop = new AbortController();
await using bus = await connectBus({ url: nats.url, clientName: "bench", log: noopLogger }, stop.signal);

interface Running {
  readonly child: ChildProcess;
  readonly health: number;
  readonly vitals: string;
  readonly readyMs: number;
}

/** Changes that came over the bus: their number, and of each the time since its event and since its write. */
const seen = { changes: 0, sinceEvent: [] as number[], sinceWrite: [] as number[] };
const written = new Map<string, { readonly revision: string; readonly atMs: number }[]>();
/** By the number of an object: what it was last written as. */
const versions = new Map<number, string>();
const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
/** Each keeps a few connections only. */
const writers = config === undefined ? [] : [openKubeApi(config), openKubeApi(config), openKubeApi(config)];
const lanes = 24;
const reading = follow();
let child: ChildProcess | undefined;
try {
  await define(api);
  await fill(api, objects);
  const first = await run();
  child = first.child;
  await delay(5_000);
  const memory = [memoryMb(first, "VmRSS")];
  await until(() => seen.changes >= objects, { withinMs: 60_000, what: "the snapshot on the bus" });
  seen.sinceEvent.length = 0;
  const before = { cpu: cpuSeconds(first), published: await publishTimes(first), atMs: Date.now() };
  const changes = await change();
  await until(() => [...written.values()].every(({ length }) => length === 0), {
    ...{ withinMs: 30_000, what: "the last change on the bus" },
  });
  const cpu = cpuSeconds(first) - before.cpu;
  const times = await publishTimes(first);
  const stalls = vitalsOf(first).map(({ atMs, stallMs }) => ({ atMs, ms: Math.round(stallMs) }));
  const stallsUntil = stalls.filter(({ atMs }) => atMs < before.atMs).map(({ ms }) => ms);
  const stallsOfChanges = stalls.filter(({ atMs }) => atMs >= before.atMs).map(({ ms }) => ms);
  memory.push(memoryMb(first, "VmRSS"), memoryMb(first, "VmHWM"));
  const published = seen.changes;
  await end(first);
  // The status of objects is written at once, not over minutes: then nothing is left to write.
  const second = await run({ PILOT_STATUS_QPS: "1000" });
  child = second.child;
  await settle();
  const writes = (await server.writes()).length;
  await delay(60_000);
  const idle = (await server.writes()).slice(writes);
  const again = seen.changes - published;
  const stallsOfRestart = vitalsOf(second).map(({ stallMs }) => Math.round(stallMs));
  await end(second);
  const script = fileURLToPath(new URL("./held-memory.ts", import.meta.url));
  const list = "/apis/networking.istio.io/v1/virtualservices";
  const measured = spawnSync(process.execPath, [script, list], { env: { ...env, KUBECONFIG: kubeconfig } });
  const { own, held } = JSON.parse(measured.stdout.toString() || "{}") as {
    readonly own: number;
    readonly held: number;
  };
  console.table({
    VirtualServices: objects,
    "start of the process → ready, ms": Math.round(first.readyMs),
    "RSS, 5 s after ready, MB": memory[0],
    "RSS after the changes, and its peak, MB": memory.slice(1).join(", "),
    "changes, a second": `${changes}, ${Math.round(changes / seconds)}`,
    "event → published, p50, p99, ms": quantiles(seen.sinceEvent),
    "begin of the write → on the bus, p50, p99, ms": quantiles(seen.sinceWrite),
    "the same as config-controller counts it: at most, p50, p99, ms": [0.5, 0.99]
      .map((q) => boundOf(q, before.published, times))
      .join(", "),
    "CPU of config-controller: cores, ms a change": `${round(cpu / seconds)}, ${round((cpu * 1_000) / changes)}`,
    "longest stall of its event loop until the changes, during them, ms": [stallsUntil, stallsOfChanges]
      .map((ms) => Math.max(...ms))
      .join(", "),
    "half seconds with a stall above 50 ms during the changes": stallsOfChanges.filter((ms) => ms > 50).length,
    "restart with nothing changed: ready, ms": Math.round(second.readyMs),
    "restart with nothing changed: changes published": again,
    "longest stall after the restart, ms": Math.max(...stallsOfRestart),
    "writes to the API server in an idle minute, Leases apart": idle.filter(({ resource }) => resource !== "leases")
      .length,
    "renewals of Leases in that minute": idle.filter(({ resource }) => resource === "leases").length,
    "own JSON of the objects, MB": megabytes(own),
    "heap that they take, MB (× own JSON)": `${megabytes(held)} (${round(held / own)})`,
    "load average": round(loadavg()[0] ?? 0),
  });
} finally {
  child?.kill("SIGTERM");
  stop.abort();
  await reading;
  for (const writer of writers) writer[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
}

/** Resolves when for twenty seconds nothing but Leases was written: objects without a report are shown as such after ten. */
async function settle(): Promise<void> {
  const count = async () => (await server?.writes())?.filter(({ resource }) => resource !== "leases").length;
  let before = await count();
  for (;;) {
    await delay(20_000);
    const now = await count();
    if (now === before) return;
    before = now;
  }
}

async function run(more: Readonly<Record<string, string>> = {}): Promise<Running> {
  const health = await freePort();
  const file = join(directory, `vitals-${health}`);
  const startMs = performance.now();
  const started = spawn(process.execPath, ["--import", vitals, ...profiling, values.main], {
    env: {
      ...{ ...env, ...memoryEnvironment },
      ...{ BUS_URL: nats.url, CLUSTER_KUBECONFIG: kubeconfig, HEALTH_PORT: `${health}`, LOG_LEVEL: "warn" },
      ...{ POD_NAMESPACE: "default", HEALTH_HOST: "127.0.0.1", VITALS_FILE: file, ...more },
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  child = started;
  const isReady = () =>
    fetch(`http://127.0.0.1:${health}/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isReady, { withinMs: 120_000, what: "config-controller to be ready", everyMs: 20 });
  return { child: started, health, vitals: file, readyMs: performance.now() - startMs };
}

async function end({ child: running }: Running): Promise<void> {
  running.kill("SIGTERM");
  if (running.exitCode === null) await once(running, "exit");
}

async function follow(): Promise<void> {
  const options = { bus, filter: filters.everything, afterSequence: 0, seal: undefined };
  for await (const item of subscribe(options, stop.signal)) {
    if (item.kind !== "group") continue;
    const now = { wall: Date.now(), steady: performance.now() };
    for (const change of item.group.changes) {
      if (change.type !== "config") continue;
      seen.changes++;
      if (change.key.kind !== "VirtualService" || change.op !== "put") continue;
      seen.sinceEvent.push(now.wall - item.group.cause.eventTimeMs);
      const queue = written.get(change.key.name);
      const revision = revisionOf(change.value.spec);
      const found = queue?.findIndex((one) => one.revision === revision) ?? -1;
      for (const { atMs } of queue?.splice(0, found + 1) ?? []) seen.sinceWrite.push(now.steady - atMs);
    }
  }
}

function revisionOf(spec: unknown): string {
  const { http } = spec as ReturnType<typeof virtualService> & { readonly http: readonly [Canary] };
  return http[0].headers.request.set["x-revision"];
}
interface Canary {
  readonly headers: { readonly request: { readonly set: { readonly "x-revision": string } } };
}

async function change(): Promise<number> {
  const start = performance.now();
  const running = new Set<Promise<unknown>>();
  let count = 0;
  for (; performance.now() - start < seconds * 1_000; count++) {
    const index = (count * 7) % objects;
    const write = replace(index, count + 1).finally(() => running.delete(write));
    running.add(write);
    // An API server that is behind is not asked for ever more: the rate is then what it takes.
    if (running.size >= lanes) await Promise.race(running);
    await delay(Math.max(0, start + ((count + 1) * 1_000) / changesPerSecond - performance.now()));
  }
  await Promise.all(running);
  return count;
}

async function replace(index: number, revision: number): Promise<void> {
  const path = `${pathOf(index)}/s${index}`;
  const queue = written.get(`s${index}`) ?? [];
  written.set(`s${index}`, queue);
  queue.push({ revision: `${revision}`, atMs: performance.now() });
  const object = virtualService(index, revision) as { readonly metadata: object };
  const writer = writers[revision % writers.length] ?? api;
  for (;;) {
    const resourceVersion = versions.get(index) ?? (await api.metadata(path))?.metadata.resourceVersion;
    try {
      const stored = await writer.replace(path, { ...object, metadata: { ...object.metadata, resourceVersion } });
      versions.set(index, stored.metadata.resourceVersion ?? "");
      return;
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT") throw error;
      // Its status was written meanwhile.
      versions.delete(index);
    }
  }
}

function quantiles(figures: number[]): string {
  figures.sort((a, b) => a - b);
  const at = (q: number) => figures[Math.min(figures.length - 1, Math.floor(figures.length * q))] ?? Number.NaN;
  return `${Math.round(at(0.5))}, ${Math.round(at(0.99))}`;
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}

function vitalsOf({ vitals: file }: Running): readonly Vitals[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Vitals);
}

/** From event to publication, by upper bound in seconds: how many took no longer. */
async function publishTimes({ health }: Running): Promise<ReadonlyMap<number, number>> {
  const text = await (await fetch(`http://127.0.0.1:${health}/metrics`)).text();
  const buckets = text.matchAll(/flotilla_config_publish_seconds_bucket\{le="([^"]+)"[^}]*\} (\d+)/g);
  return new Map(
    Array.from(buckets, ([, bound = "", count]) => [Number(bound.replace("+Inf", "Infinity")), Number(count)]),
  );
}

/** The bound, in ms, that the quantile of what came between the two is not above. */
function boundOf(q: number, before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  const counts = [...after].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const);
  const all = counts.at(-1)?.[1] ?? 0;
  return (counts.find(([, count]) => count >= all * q)?.[0] ?? Number.NaN) * 1_000;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}

function memoryMb({ child: { pid } }: Running, field: "VmRSS" | "VmHWM"): number {
  const found = new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(found?.[1] ?? 0) / 1024);
}

/** In ticks of a hundredth of a second. */
function cpuSeconds({ child: { pid } }: Running): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
