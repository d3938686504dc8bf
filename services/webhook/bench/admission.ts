/**
 * Admission requests per second over HTTPS: webhook in a process of its own, 50 connections here, each with one request in flight. Pods that
 * have nothing in common, pods of one ReplicaSet, objects to validate, then each bad input by itself. One JSON line a scenario; CPU and memory are those of webhook.
 *
 *     node services/webhook/bench/admission.ts [seconds] [connections]
 *
 * INJECTION_CONFIG_FILE and INJECTION_VALUES_FILE name other templates, such as Istio's. WEBHOOK_PROGRAM names another program than the sources: the
 * bundle that images have.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { memoryEnvironment } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { type BadInput, badInputs, closed, sendBody } from "../src/testing/bad-inputs.fixture.ts";
import { selfSigned } from "../src/testing/self-signed.ts";
import { podOfReplicaSet, podOfService, virtualService } from "./reviews.ts";

const seconds = Number(process.argv[2] ?? 5);
const connections = Number(process.argv[3] ?? 50);
const ticksPerSecond = 100;
const badInputTimes = 9;

interface Scenario {
  readonly name: string;
  readonly path: string;
  readonly body: (index: number) => string;
}

const scenarios: readonly Scenario[] = [
  { name: "pods of different services", path: "/inject", body: podOfService },
  { name: "pods of one ReplicaSet", path: "/inject", body: podOfReplicaSet },
  { name: "VirtualServices to validate", path: "/validate", body: virtualService },
];

const workDir = await mkdtemp(join(tmpdir(), "webhook-bench-"));
const port = await freePort();
const { chainPem, keyPem } = await selfSigned("localhost");
const files = { TLS_CERT_FILE: join(workDir, "tls.crt"), TLS_KEY_FILE: join(workDir, "tls.key") };
await writeFile(files.TLS_CERT_FILE, chainPem);
await writeFile(files.TLS_KEY_FILE, keyPem);
const agent = new Agent({ keepAlive: true, maxSockets: connections });
const webhook = start();
try {
  while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, 100));
  process.stdout.write(`${JSON.stringify({ scenario: "idle", rssMb: await rssMb() })}\n`);
  for (const scenario of scenarios) {
    await measure(scenario, Math.min(2, seconds));
    process.stdout.write(`${JSON.stringify(await measure(scenario, seconds))}\n`);
  }
  for (const input of badInputs) process.stdout.write(`${JSON.stringify(await measureBadInput(input))}\n`);
} finally {
  agent.destroy();
  webhook.kill();
  await rm(workDir, { recursive: true, force: true });
}

function start(): ChildProcess {
  const listening = {
    WEBHOOK_HOST: "127.0.0.1",
    WEBHOOK_PORT: String(port),
    HEALTH_HOST: "127.0.0.1",
    HEALTH_PORT: "0",
  };
  const env = {
    ...memoryEnvironment,
    ...process.env,
    ...files,
    ...listening,
    WORK_DIR: workDir,
    BUS_URL: "embedded:bench",
    LOG_LEVEL: "warn",
  };
  const program = process.env["WEBHOOK_PROGRAM"] ?? fileURLToPath(new URL("../bin/main.ts", import.meta.url));
  return spawn(process.execPath, [program], { env, stdio: ["ignore", "ignore", "inherit"] });
}

async function isReady(): Promise<boolean> {
  if (webhook.exitCode !== null) throw new Error(`webhook ended with ${webhook.exitCode}`);
  return ask("/ready", "").then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function measure({ name, path, body }: Scenario, forSeconds: number): Promise<object> {
  const latencies: number[] = [];
  const cpuBefore = await cpuSeconds();
  const [startedMs, endMs] = [performance.now(), performance.now() + forSeconds * 1_000];
  let sent = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const asked = performance.now();
      const { status, text } = await ask(path, body(sent++));
      if (status !== 200 || !text.includes('"allowed":true'))
        throw new Error(`${name}: ${status} ${text.slice(0, 300)}`);
      if (path === "/inject" && !text.includes('"patch"')) throw new Error(`${name}: no patch`);
      latencies.push(performance.now() - asked);
    }
  };
  await Promise.all(Array.from({ length: connections }, caller));
  const elapsed = (performance.now() - startedMs) / 1_000;
  const cpu = (await cpuSeconds()) - cpuBefore;
  latencies.sort((a, b) => a - b);
  const percentile = (share: number) => Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 10) / 10;
  return {
    ...{ scenario: name, connections, perSecond: Math.round(latencies.length / elapsed) },
    ...{ p50Ms: percentile(0.5), p99Ms: percentile(0.99) },
    ...{
      cpuMsEach: Math.round((cpu / latencies.length) * 100_000) / 100,
      perCpuSecond: Math.round(latencies.length / cpu),
    },
    ...{ rssMb: await rssMb(), load: Math.round((loadavg()[0] ?? 0) * 10) / 10 },
  };
}

/** Each time over a connection of its own; the time has its handshake. */
async function measureBadInput(input: BadInput): Promise<object> {
  const times: number[] = [];
  const cpuBefore = await cpuSeconds();
  for (let time = 0; time < badInputTimes; time++) {
    const { status, text, clockMs } = await sendBody(port, input);
    const isExpected = status === input.status ? input.answer.test(text) : status === closed && input.status === 413;
    if (!isExpected) throw new Error(`${input.name}: ${status} ${text}`);
    times.push(clockMs);
  }
  const cpu = (await cpuSeconds()) - cpuBefore;
  const sorted = times.toSorted((a, b) => a - b);
  const clockMs = [sorted[0], sorted[badInputTimes >> 1], sorted.at(-1)].map((ms = 0) => Math.round(ms));
  return { badInput: input.name, clockMs, cpuMsEach: Math.round((cpu * 1_000) / badInputTimes), rssMb: await rssMb() };
}

function ask(path: string, body: string): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const to = { host: "127.0.0.1", port, path, method: body === "" ? "GET" : "POST", headers };
  const asked = request({ ...to, rejectUnauthorized: false, agent }, (response) => {
    let text = "";
    response.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
  });
  // A server may close a connection that was idle just as it is used again.
  asked.on("error", (error) => (asked.reusedSocket ? resolve(ask(path, body)) : reject(error)));
  asked.end(body);
  return promise;
}

/** Of all threads, user and system. */
async function cpuSeconds(): Promise<number> {
  const stat = await readFile(`/proc/${webhook.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

async function rssMb(): Promise<number> {
  const status = await readFile(`/proc/${webhook.pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024);
}
