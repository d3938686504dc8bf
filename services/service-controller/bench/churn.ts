/**
 * `pnpm bench:churn [--seconds N]`: 10,000 endpoints of 500 services in a real API server, 100 EndpointSlices written a second, 10
 * of 20 addresses changed in each. From before the write to the change on the bus; at the end what is on the bus is compared with
 * a fresh list of the API server. Needs a kube-apiserver, as the tests find it.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connectBus, createPublisher, filters, subscribe } from "@flotilla/bus";
import { type KubeApi, listAll } from "@flotilla/kube-api";
import { startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import type { KubeObject } from "@flotilla/model";
import { delay, memoryEnvironment, noopLogger, until } from "@flotilla/runtime";
import { startNats } from "@flotilla/servers";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "60" } } });
const seconds = Number(values.seconds);
const services = 500;
const addressesOfSlice = 20;
const changedOfSlice = 10;
const writesPerSecond = 100;
const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/churn/endpointslices";
const { env } = process;

interface Slice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

await using server = await startKubeApiserver(env);
if (server === undefined) throw new Error(whyNoApiserver);
const { api } = server;
const directory = mkdtempSync(join(tmpdir(), "flotilla-churn-"));
await using nats = await startNats({ env, directory });
const stop = new AbortController();
await using bus = await connectBus({ url: nats.url, clientName: "churn", log: noopLogger }, stop.signal);

/** By service: its addresses as last written and as last published, sorted; and writes that are not published yet. */
const written = new Map<string, readonly string[]>();
const published = new Map<string, readonly string[]>();
const waiting = new Map<string, { readonly text: string; readonly atMs: number }[]>();
const latencies: number[] = [];
/** Of the API server, to the writes. */
const answers: number[] = [];
let lastAddress = 0;

const reading = follow();
await fill(api);
const configuration = { bus, publisher: "config-controller", seal: undefined, log: noopLogger, nowMs: Date.now };
await createPublisher(configuration).synchronize([]);
const child = spawn(process.execPath, [fileURLToPath(new URL("../bin/main.ts", import.meta.url))], {
  // As it is started everywhere.
  env: {
    ...memoryEnvironment,
    ...env,
    BUS_URL: nats.url,
    CLUSTER_KUBECONFIG: server.kubeconfig,
    HEALTH_PORT: "0",
    LOG_LEVEL: "warn",
  },
  stdio: ["ignore", "inherit", "inherit"],
});
try {
  await until(() => published.size === services, { withinMs: 60_000, what: "the snapshot on the bus" });
  const cpuBefore = cpuSeconds();
  let peakMb = 0;
  const watching = setInterval(() => {
    peakMb = Math.max(peakMb, memoryMb());
  }, 500);
  const writes = await churn(api);
  await until(() => equals(written), { withinMs: 20_000, what: "the last write on the bus" });
  clearInterval(watching);
  for (const times of [latencies, answers]) times.sort((a, b) => a - b);
  const fresh = addressesOf((await listAll<Slice>(api, slicesPath)).objects);
  console.table({
    "endpoints, services": `${services * addressesOfSlice}, ${services}`,
    "slices written, a second": `${writes}, ${Math.round(writes / seconds)}`,
    "write → on the bus, p50, ms": Math.round(quantile(latencies, 0.5)),
    "write → on the bus, p99, ms": Math.round(quantile(latencies, 0.99)),
    "write → the API server's answer, p99, ms": Math.round(quantile(answers, 0.99)),
    "writes seen one by one": latencies.length,
    "RSS of service-controller, peak, MB": peakMb,
    "CPU of service-controller, cores": Math.round(((cpuSeconds() - cpuBefore) / seconds) * 100) / 100,
    "on the bus = fresh list": equals(fresh),
    "load average": Math.round((loadavg()[0] ?? 0) * 10) / 10,
  });
} finally {
  child.kill("SIGTERM");
  stop.abort();
  await reading;
  rmSync(directory, { recursive: true, force: true });
}

async function follow(): Promise<void> {
  const options = { bus, filter: filters.everything, afterSequence: 0, seal: undefined };
  for await (const item of subscribe(options, stop.signal)) {
    if (item.kind !== "group") continue;
    for (const { type, key, ...change } of item.group.changes) {
      if (type !== "endpoints" || change.op !== "put") continue;
      // The API server has a service of its own.
      if (key.namespace !== "churn") continue;
      const name = key.hostname.split(".")[0] ?? "";
      const addresses = (change.value as readonly { readonly addresses: readonly string[] }[])
        .map(({ addresses: [address = ""] }) => address)
        .sort();
      published.set(name, addresses);
      const text = addresses.join();
      const queue = waiting.get(name) ?? [];
      const found = queue.findIndex((one) => one.text === text);
      // Writes before it were joined with it.
      for (const { atMs } of queue.splice(0, found + 1)) latencies.push(performance.now() - atMs);
    }
  }
}

async function fill(to: KubeApi): Promise<void> {
  await to.create("/api/v1/namespaces", { metadata: { name: "churn" } });
  for (let index = 0; index < services; index++) {
    const name = `s${index}`;
    // Without addresses of their own: the range of the API server is smaller than the mesh.
    const spec = { clusterIP: "None", ports: [{ name: "http", port: 80 }] };
    await to.create("/api/v1/namespaces/churn/services", { metadata: { name, namespace: "churn" }, spec });
    await to.create(slicesPath, sliceOf(name, freshAddresses(addressesOfSlice)));
  }
}

async function churn(to: KubeApi): Promise<number> {
  const start = performance.now();
  const running = new Set<Promise<unknown>>();
  let writes = 0;
  for (; performance.now() - start < seconds * 1_000; writes++) {
    const name = `s${(writes * 7) % services}`;
    const kept = (written.get(name) ?? []).slice(changedOfSlice);
    const slice = sliceOf(name, [...kept, ...freshAddresses(changedOfSlice)]);
    const text = [...(written.get(name) ?? [])].sort().join();
    const queue = waiting.get(name) ?? [];
    queue.push({ text, atMs: performance.now() });
    waiting.set(name, queue);
    const atMs = performance.now();
    const write = to.replace(`${slicesPath}/${name}`, slice).finally(() => {
      answers.push(performance.now() - atMs);
      running.delete(write);
    });
    running.add(write);
    await delay(Math.max(0, start + ((writes + 1) * 1_000) / writesPerSecond - performance.now()));
  }
  await Promise.all(running);
  return writes;
}

function sliceOf(name: string, addresses: readonly string[]): unknown {
  written.set(name, addresses);
  return {
    metadata: { name, namespace: "churn", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

function freshAddresses(count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const number = ++lastAddress;
    return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  });
}

function addressesOf(slices: readonly Slice[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    slices.map(({ metadata, endpoints = [] }) => [metadata.name, endpoints.flatMap(({ addresses }) => addresses)]),
  );
}

function equals(wanted: ReadonlyMap<string, readonly string[]>): boolean {
  if (wanted.size !== published.size) return false;
  return [...wanted].every(([name, addresses]) => [...addresses].sort().join() === published.get(name)?.join());
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

function memoryMb(): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
  return Math.round(Number(found?.[1] ?? 0) / 1024);
}

/** Of the child, in ticks of a hundredth of a second. */
function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
