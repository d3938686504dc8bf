/**
 * `pnpm bench:gateway-status --definitions DIRECTORY [--istiod PROGRAM] [--routes N] [--rounds N]`: HTTPRoutes applied at once until the status of
 * each and the count of their Gateway are right, alternately with this control plane, with an istiod (pilot-discovery) in its place, and with a
 * client that knows beforehand what to write: what the API server alone takes for these writes. Each turn has an API server of its own.
 * Everything shares the machine; processor time of the control plane and of the API server with its etcd stands apart.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allReady, startControlPlane } from "@flotilla/cli/testing";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { freePort, freePorts } from "@flotilla/servers";
import {
  createGateway,
  createRoutes,
  defineKinds,
  SeenStatuses,
  writeStatus,
  writeStatuses,
} from "./gateway/cluster.ts";

const { values } = parseArgs({
  options: {
    definitions: { type: "string" },
    istiod: { type: "string" },
    routes: { type: "string", default: "1000" },
    rounds: { type: "string", default: "3" },
  },
});
const { definitions, istiod } = values;
if (definitions === undefined) throw new Error("--definitions DIRECTORY is missing");
const names = Array.from({ length: Number(values.routes) }, (_, index) => `r-${index}`);
const { env } = process;

/** A control plane that runs. */
interface Running extends AsyncDisposable {
  readonly pids: readonly number[];
  /** Of the process that writes statuses. */
  readonly writer: number;
}

interface Turn {
  readonly server: RunningApiserver;
  readonly workDir: string;
}

for (let round = 1; round <= Number(values.rounds); round++) {
  await turn(`flotilla, ${round}`, startFlotilla);
  if (istiod !== undefined) await turn(`istiod, ${round}`, (given) => startIstiod(given, istiod));
  await bareTurn(`a client alone, ${round}`);
}

async function turn(title: string, start: (turn: Turn) => Promise<Running>): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const server = await preparedServer(owned);
  const workDir = mkdtempSync(join(tmpdir(), "gateway-status-"));
  owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
  const plane = owned.use(await start({ server, workDir }));
  const seen = owned.use(new SeenStatuses(server.api));
  await until(() => seen.attached === 0, { withinMs: 120_000, what: "the Gateway's status" });
  await delay(5_000);
  const cpuNow = () => {
    return { plane: cpuOf(plane.pids), writer: cpuOf([plane.writer]), server: cpuOf(server.pids()) };
  };
  const before = { writes: (await writesOf(server)).length, ...cpuNow() };
  const startMs = performance.now();
  await createRoutes(server.api, names);
  const appliedMs = performance.now();
  const soon = { withinMs: 300_000, everyMs: 5 };
  await until(() => seen.attached === names.length, { ...soon, what: "all routes to be counted" });
  const countedMs = performance.now();
  await until(() => seen.accepted === names.length, { ...soon, what: "all routes to be accepted" });
  const endMs = performance.now();
  const after = cpuNow();
  await delay(2_000);
  const made = (await writesOf(server)).slice(before.writes);
  const of = (resource: string) => made.filter((one) => one.resource.startsWith(resource)).length;
  print(title, {
    "applying, s": round2(appliedMs - startMs),
    "counted after the last, s": round2(Math.max(0, countedMs - appliedMs)),
    "every status right after the last, s": round2(endMs - appliedMs),
    "after the first, s": round2(endMs - startMs),
    "writes of routes": of("httproutes"),
    "of the Gateway": of("gateways"),
    others: made.length - of("httproutes") - of("gateways"),
    "CPU of the control plane, s": round2((after.plane - before.plane) * 1000),
    "of its process that writes statuses, s": round2((after.writer - before.writer) * 1000),
    "CPU of the API server and etcd, s": round2((after.server - before.server) * 1000),
  });
}

/** The same writes by a client that waits for nothing: all after the routes, and each as soon as its route is there. */
async function bareTurn(title: string): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const server = await preparedServer(owned);
  const before = cpuOf(server.pids());
  const startMs = performance.now();
  await createRoutes(server.api, names);
  const appliedMs = performance.now();
  const applied = cpuOf(server.pids());
  await writeStatuses(server.api, names);
  const endMs = performance.now();
  const written = cpuOf(server.pids());
  const writing: Promise<void>[] = [];
  const more = names.map((name) => `more-${name}`);
  await createRoutes(server.api, more, (name) => writing.push(writeStatus(server.api, name)));
  const bothAppliedMs = performance.now();
  await Promise.all(writing);
  print(title, {
    "applying alone, s": round2(appliedMs - startMs),
    "writing the statuses alone, s": round2(endMs - appliedMs),
    "CPU of the API server and etcd for applying, s": round2((applied - before) * 1000),
    "for the statuses, s": round2((written - applied) * 1000),
    "both at once: applying, s": round2(bothAppliedMs - endMs),
    "every status right after the last, s": round2(performance.now() - bothAppliedMs),
  });
}

async function preparedServer(owned: AsyncDisposableStack): Promise<RunningApiserver> {
  const server = await startKubeApiserver(env);
  if (server === undefined) throw new Error(whyNoApiserver);
  owned.use(server);
  await defineKinds(server.api, definitions ?? "");
  await createGateway(server.api, await freePort(), await freePort());
  return server;
}

async function startFlotilla({ server, workDir }: Turn): Promise<Running> {
  const given = { CLUSTER_KUBECONFIG: server.kubeconfig, POD_NAMESPACE: "istio-system", LOG_LEVEL: "warn" };
  const plane = await startControlPlane({
    options: {
      ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined, workDir },
      settings: { ...(env as Record<string, string>), ...given },
      firstPort: await freePorts(20),
    },
    logs: "files",
    onProgress: () => undefined,
  });
  await allReady(plane, 120_000, () => undefined, new AbortController().signal);
  return {
    pids: plane.services.flatMap(({ pid }) => pid ?? []),
    writer: plane.services.find(({ name }) => name === "config-controller")?.pid ?? 0,
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}

/** Without what needs pods, and with nothing that the other one does not do. */
async function startIstiod({ server, workDir }: Turn, program: string): Promise<Running> {
  const [http, grpc, monitoring, webhooks] = [await freePort(), await freePort(), await freePort(), await freePort()];
  writeFileSync(join(workDir, "mesh.yaml"), 'accessLogFile: ""\n');
  const log = openSync(join(workDir, "istiod.log"), "w");
  const given = {
    ...{ POD_NAME: "istiod-0", POD_NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", REVISION: "default" },
    ...{ PILOT_CERT_PROVIDER: "istiod", VALIDATION_WEBHOOK_CONFIG_NAME: "", INJECTION_WEBHOOK_CONFIG_NAME: "" },
  };
  const args = [
    ...["discovery", "--kubeconfig", server.kubeconfig, "--domain", "cluster.local", "--ctrlz_port", "0"],
    ...["--httpAddr", `127.0.0.1:${http}`, "--httpsAddr", `127.0.0.1:${webhooks}`, "--grpcAddr", `127.0.0.1:${grpc}`],
    ...["--secureGRPCAddr", "", "--monitoringAddr", `127.0.0.1:${monitoring}`],
    ...["--meshConfig", join(workDir, "mesh.yaml"), "--log_output_level", "default:warn"],
  ];
  const child: ChildProcess = spawn(program, args, {
    stdio: ["ignore", log, log],
    env: { ...env, ...given },
    cwd: workDir,
  });
  const isReady = async () => (await fetch(`http://127.0.0.1:${http}/ready`).catch(() => undefined))?.ok === true;
  const what = () => `istiod: ${readFileSync(join(workDir, "istiod.log"), "utf8").slice(-2_000)}`;
  await until(isReady, { withinMs: 120_000, what: "istiod to be ready", everyMs: 200 }).catch((cause: unknown) => {
    throw new Error(what(), { cause });
  });
  return {
    ...{ pids: [child.pid ?? 0], writer: child.pid ?? 0 },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** Writes to the API server, without Leases and the objects that the bench creates. */
async function writesOf(server: RunningApiserver) {
  return (await server.writes()).filter(({ verb, resource }) => verb !== "create" && resource !== "leases");
}

/** Seconds of processor time. */
function cpuOf(pids: readonly number[]): number {
  const seconds = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  });
  return seconds.reduce((sum, one) => sum + one, 0);
}

function round2(ms: number): number {
  return Math.round(ms / 10) / 100;
}

function print(title: string, figures: Readonly<Record<string, number>>): void {
  process.stdout.write(`${JSON.stringify({ [title]: figures, load: Math.round(loadavg()[0] ?? 0) })}\n`);
}
