/**
 * `pnpm bench:api [--writes N] [--at-once N]`: VirtualServices written over the API of a config-controller of its own, on a real NATS:
 * one a request, some at a time; then a thousand with one apply; then a restart with all of them. Latencies are from before the
 * request to its answer, and to the change on the bus.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { connectBus, filters, subscribe } from "@flotilla/bus";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, startNats } from "@flotilla/servers";

const { values } = parseArgs({
  options: { writes: { type: "string", default: "2000" }, "at-once": { type: "string", default: "16" } },
});
const [writes, atOnce] = [Number(values.writes), Number(values["at-once"])];
const batch = 1_000;

const directory = mkdtempSync(join(tmpdir(), "flotilla-api-bench-"));
await using nats = await startNats({ env: process.env, directory });
const stop = new AbortController();
await using bus = await connectBus({ url: nats.url, clientName: "bench", log: noopLogger }, stop.signal);
const [apiPort, healthPort] = [await freePort(), await freePort()];
const rootPem = await writeCertificate();
const issuer = await openLocalIssuer(directory);
const account = { namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" };
const token = await issuer.mintToken({ ...account, ttlMs: 3_600_000 });
const agent = new Agent({ keepAlive: true, maxSockets: atOnce, ca: rootPem });

/** By name: when its change came over the bus. */
const published = new Map<string, number>();
const reading = (async () => {
  const options = { bus, filter: filters.config, afterSequence: 0, seal: undefined };
  for await (const item of subscribe(options, stop.signal))
    if (item.kind === "group")
      for (const { key } of item.group.changes) if ("name" in key) published.set(key.name, performance.now());
})();

let child = await startController();
const answered: number[] = [];
const arrived: number[] = [];
const begun = performance.now();
let next = 0;
const writer = async (): Promise<void> => {
  while (next < writes) {
    const name = `one-${next++}`;
    const from = performance.now();
    await call("POST", "/apis/networking.istio.io/v1/namespaces/bench/virtualservices", virtualService(name));
    answered.push(performance.now() - from);
    const isThere = () => published.has(name);
    await until(isThere, { withinMs: 30_000, what: name, everyMs: 1 });
    arrived.push((published.get(name) ?? 0) - from);
  }
};
await Promise.all(Array.from({ length: atOnce }, writer));
const seconds = (performance.now() - begun) / 1000;
print({
  writes,
  atOnce,
  perSecond: Math.round(writes / seconds),
  answerMs: percentiles(answered),
  publishedMs: percentiles(arrived),
});

const items = Array.from({ length: batch }, (_, index) => virtualService(`many-${index}`));
const from = performance.now();
await call("POST", "/flotilla/v1/apply?fieldManager=bench", { apiVersion: "v1", kind: "List", items });
const answeredMs = performance.now() - from;
const areThere = () => items.every(({ metadata }) => published.has(metadata.name));
await until(areThere, { withinMs: 60_000, what: "the whole apply" });
print({ applied: batch, answerMs: Math.round(answeredMs), publishedMs: Math.round(performance.now() - from) });

await end();
const restarted = performance.now();
child = await startController();
print({ objects: writes + batch, restartReadyMs: Math.round(performance.now() - restarted), rssMb: memoryMb() });
await end();
stop.abort();
await reading;
agent.destroy();
rmSync(directory, { recursive: true, force: true });

async function startController() {
  const started = spawn(process.execPath, [fileURLToPath(new URL("../bin/main.ts", import.meta.url))], {
    env: {
      ...process.env,
      ...{ BUS_URL: nats.url, WORK_DIR: directory, LOG_LEVEL: "warn", KUBERNETES_SERVICE_HOST: "" },
      ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(healthPort), API_PORT: String(apiPort) },
      ...{ API_CERT_FILE: join(directory, "api.crt"), API_KEY_FILE: join(directory, "api.key") },
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const isReady = async () => {
    const page = await fetch(`http://127.0.0.1:${healthPort}/ready`);
    return (
      page.ok && ((await (await fetch(`http://127.0.0.1:${healthPort}/debug/api`)).json()) as { url?: string }).url
    );
  };
  await until(isReady, { withinMs: 60_000, what: "config-controller", everyMs: 20 });
  return started;
}

function memoryMb(): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readStatus())?.[1] ?? 0) / 1024);
}

function readStatus(): string {
  return process.platform === "linux" ? readFileSync(`/proc/${child.pid}/status`, "utf8") : "";
}

async function end(): Promise<void> {
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  await ended;
}

async function writeCertificate(): Promise<string> {
  const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
  const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 86_400_000 };
  const root = issueRoot({ serial: randomBytes(16), subject: { commonName: "bench" }, ...times }, rootKey);
  const leaf = { serial: randomBytes(16), spki: spkiOf(key), sans: [sanOf("localhost")], ...times };
  writeFileSync(join(directory, "api.crt"), certificatePem({ der: issueLeaf(leaf, issuerOf(root, rootKey)) }));
  writeFileSync(join(directory, "api.key"), privateKeyPem(key), { mode: 0o600 });
  return certificatePem(root);
}

async function call(method: string, path: string, body: unknown): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const payload = JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(payload),
  };
  const sent = request({ host: "localhost", port: apiPort, method, path, headers, agent }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    response.once("end", () => ((response.statusCode ?? 500) < 300 ? resolve() : reject(new Error(text))));
  });
  sent.once("error", reject);
  sent.end(payload);
  await promise;
}

function virtualService(name: string) {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "bench" },
    spec: { hosts: [`${name}.example`], http: [{ route: [{ destination: { host: `${name}.example` } }] }] },
  };
}

function percentiles(list: readonly number[]): Readonly<Record<string, number>> {
  const sorted = list.toSorted((a, b) => a - b);
  const at = (share: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function print(figures: object): void {
  process.stdout.write(`${JSON.stringify({ ...figures, load: Math.round((loadavg()[0] ?? 0) * 10) / 10 })}\n`);
}
