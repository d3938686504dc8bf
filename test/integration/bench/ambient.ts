/**
 * `pnpm bench:ambient [--services N] [--pods N] [--ztunnels N] [--changes N] [--seconds N] [--kubeconfig FILE] [--against HOST:PORT,PID]`: an
 * ambient mesh in a Kubernetes API. All ztunnels synced; one pod changed, until each has it; 100 pods born and gone a second, until
 * the ztunnel of the pod's node has it. Without `--kubeconfig` a kube-apiserver is started; `--against` measures a control plane that
 * reads that API already. Everything shares the machine: the CPU of the control plane stands apart.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allReady, startControlPlane } from "@flotilla/cli/testing";
import { loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { createPod, deletePod, fillMesh, giveAddress, uidOf } from "./ambient/cluster.ts";
import { startZtunnels, type Ztunnels } from "./ambient/ztunnels.ts";

const { values } = parseArgs({
  options: {
    services: { type: "string", default: "2000" },
    pods: { type: "string", default: "10000" },
    ztunnels: { type: "string", default: "50" },
    changes: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    kubeconfig: { type: "string" },
    against: { type: "string" },
  },
});
const [services, pods, count, changes, seconds] = [
  values.services,
  values.pods,
  values.ztunnels,
  values.changes,
  values.seconds,
].map(Number) as [number, number, number, number, number];
const spread = { services, nodes: count };
const perSecond = 100;

interface Measured {
  readonly address: string;
  /** Processes by name. */
  readonly processes: Readonly<Record<string, number>>;
}

const { env } = process;
await using owned = new AsyncDisposableStack();
const kubeconfig = values.kubeconfig ?? (await ownApiserver());
const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
if (config === undefined) throw new Error(`${kubeconfig} names no API server`);
const api = owned.use(openKubeApi(config));
await fillMesh(api, { services, pods, nodes: count });
print("services, pods, ztunnels", `${services}, ${pods}, ${count}`);
const measured = values.against === undefined ? await ownPlane() : against(values.against);
const cpuBefore = cpu();
const ztunnels = owned.use(startZtunnels(measured.address, count));
await syncAll();
await changeOneByOne();
await bearAndKill();
print("load average", round(loadavg()[0] ?? 0));

function print(name: string, figure: string | number): void {
  process.stdout.write(`${JSON.stringify({ [name]: figure })}\n`);
}

async function ownApiserver(): Promise<string> {
  const server = await startKubeApiserver(env);
  if (server === undefined) throw new Error(whyNoApiserver);
  return owned.use(server).kubeconfig;
}

async function ownPlane(): Promise<Measured> {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-ambient-"));
  owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
  const given = { CLUSTER_KUBECONFIG: kubeconfig, POD_NAMESPACE: "istio-system", PILOT_ENABLE_AMBIENT: "true" };
  const plane = owned.use(
    await startControlPlane({
      options: {
        ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined, workDir },
        settings: { ...(env as Record<string, string>), ...given, LOG_LEVEL: env["LOG_LEVEL"] ?? "warn" },
        firstPort: await freePorts(20),
      },
      logs: "files",
      onProgress: () => undefined,
    }),
  );
  await allReady(plane, 180_000, () => undefined, new AbortController().signal);
  const processes = plane.services.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const]));
  return { address: `127.0.0.1:${plane.layout.ports.xds}`, processes: Object.fromEntries(processes) };
}

function against(text: string): Measured {
  const [address = "", pid = ""] = text.split(",");
  return { address, processes: { "control plane": Number(pid) } };
}

async function syncAll(): Promise<void> {
  const startMs = performance.now();
  const isSynced = () => ztunnels.synced(services + pods) === count;
  await until(isSynced, { withinMs: 600_000, what: "all ztunnels to be synced", everyMs: 10 });
  print("all synced, s", round((performance.now() - startMs) / 1_000));
  print("MB sent", round(ztunnels.bytes / 1e6));
  printCpu("syncing", cpuBefore);
}

/** A pod gets another address, with nothing else going on. */
async function changeOneByOne(): Promise<void> {
  await delay(2_000);
  const before = { cpu: cpu(), bytes: ztunnels.bytes };
  const took: number[] = [];
  for (let change = 0; change < changes; change++) {
    const pod = (change * 37) % pods;
    const startMs = performance.now();
    const all = waitForAll(ztunnels, uidOf(pod), () => took.push(performance.now() - startMs));
    await giveAddress(api, pod, spread, 1);
    await all;
    await delay(100);
  }
  print("one pod changed: p50, p99, max, ms", quantiles(took));
  print("bytes a change and ztunnel", Math.round((ztunnels.bytes - before.bytes) / changes / count));
  printCpu(`${changes} changes`, before.cpu);
}

function waitForAll(fleet: Ztunnels, uid: string, onOne: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = new Set(Array.from({ length: count }, (_, index) => index));
  fleet.onName = (ztunnel, name) => {
    if (name !== uid || !waiting.delete(ztunnel)) return;
    onOne();
    if (waiting.size === 0) resolve();
  };
  return promise;
}

/** Of 100 changes a second half are births; each pod lives for some seconds. */
async function bearAndKill(): Promise<void> {
  const before = { cpu: cpu(), bytes: ztunnels.bytes, messages: ztunnels.messages };
  const [knownMs, addressedMs]: [number[], number[]] = [[], []];
  const born = new Map<string, { readonly node: number; readonly atMs: number }>();
  ztunnels.onName = (ztunnel, name, isThere) => {
    const birth = born.get(name);
    if (!isThere || birth?.node !== ztunnel) return;
    born.delete(name);
    knownMs.push(performance.now() - birth.atMs);
  };
  const memory = [memoryMb()];
  const births = (seconds * perSecond) / 2;
  const lifetime = 5 * (perSecond / 2);
  const running = new Set<Promise<unknown>>();
  const startMs = performance.now();
  for (let birth = 0; birth < births + lifetime; birth++) {
    if (birth < births) keep(running, bear(pods + birth, born, addressedMs));
    if (birth >= lifetime) keep(running, deletePod(api, pods + birth - lifetime));
    if (birth % (births / 4) === 0 && birth > 0) memory.push(memoryMb());
    await delay(Math.max(0, startMs + ((birth + 1) * 2_000) / perSecond - performance.now()));
  }
  await Promise.all(running);
  const took = (performance.now() - startMs) / 1_000;
  await delay(3_000);
  print("births that the ztunnel of the node has not heard of", born.size);
  print("births and deaths, a second", `${2 * births}, ${round((2 * births) / took)}`);
  print("address written → ztunnel of the node: p50, p99, max, ms", quantiles(knownMs));
  print("address written → answer of the API server: p50, p99, max, ms", quantiles(addressedMs));
  const bytes = (ztunnels.bytes - before.bytes) / count;
  print(
    "bytes a change and ztunnel; messages",
    `${Math.round(bytes / births / 2)}; ${round((ztunnels.messages - before.messages) / count)}`,
  );
  print("RSS of the control plane or xds-server along the way, MB", memory.join(", "));
  printCpu("births and deaths", before.cpu);
}

function keep(running: Set<Promise<unknown>>, work: Promise<unknown>): void {
  const ended = work.finally(() => running.delete(ended));
  running.add(ended);
}

async function bear(
  pod: number,
  born: Map<string, { readonly node: number; readonly atMs: number }>,
  addressedMs: number[],
): Promise<void> {
  await createPod(api, pod, spread);
  const atMs = performance.now();
  born.set(uidOf(pod), { node: pod % count, atMs });
  await giveAddress(api, pod, spread);
  addressedMs.push(performance.now() - atMs);
}

/** Seconds by process. */
function cpu(): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(measured.processes).map(([name, pid]) => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return [name, (Number(fields[11]) + Number(fields[12])) / 100];
    }),
  );
}

function printCpu(of: string, before: Readonly<Record<string, number>>): void {
  const spent = Object.entries(cpu()).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)] as const);
  const sum = spent.reduce((all, [, seconds]) => all + seconds, 0);
  const parts = spent.map(([name, seconds]) => `${name} ${round(seconds)}`);
  print(`CPU of ${of}, s`, `${round(sum)}: ${parts.join(", ")}`);
}

function memoryMb(): number {
  const pid = measured.processes["xds-server"] ?? measured.processes["control plane"];
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

function quantiles(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  return [0.5, 0.99, 1]
    .map((q) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0))
    .join(", ");
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}
