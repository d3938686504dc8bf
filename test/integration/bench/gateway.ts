/**
 * `pnpm bench:gateway --definitions DIRECTORY [--routes N] [--churn N] [--many N] [--scoped N]`: a Gateway of the Gateway API on a real kube-apiserver with a
 * real Envoy. Routes applied at once until every status is right; a changed route until Envoy answers by it, idle and while others
 * change; routes one by one under load. DIRECTORY has the Gateway API's definitions. Everything shares the machine: the CPU of the
 * services stands apart. Files of the stores are in TMPDIR. `--scoped`: GATEWAY_SCOPED_ROUTES_ABOVE, as it is by default unless given.
 *
 * Others change at the rate of gateway-api-bench v2 (tests/route-load.sh: one route of 5,000 each second, one workload each two seconds),
 * and then as fast as two clients can.
 */
import { closeSync, fsyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { envoyBootstrap, startEchoServer, startEnvoy } from "@flotilla/dataplane";
import { startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";
import {
  changeEndpoints,
  changeRoute,
  createGateway,
  createRoutes,
  defineKinds,
  namespace,
  SeenStatuses,
} from "./gateway/cluster.ts";
import { seenAt, startLoad } from "./gateway/requests.ts";

const { values } = parseArgs({
  options: {
    definitions: { type: "string" },
    routes: { type: "string", default: "1000" },
    churn: { type: "string", default: "5000" },
    many: { type: "string", default: "3000" },
    changes: { type: "string", default: "40" },
    scoped: { type: "string" },
  },
});
const [routes, churn, many, changes] = [values.routes, values.churn, values.many, values.changes].map(Number) as [
  number,
  number,
  number,
  number,
];
if (values.definitions === undefined) throw new Error("--definitions DIRECTORY is missing");
const { env } = process;
await using owned = new AsyncDisposableStack();
const server = await startKubeApiserver(env);
if (server === undefined) throw new Error(whyNoApiserver);
owned.use(server);
const { api } = server;
const workDir = mkdtempSync(join(tmpdir(), "flotilla-gateway-"));
owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
const [backend, listenPort] = [owned.use(await startEchoServer("v1")), await freePort()];
await defineKinds(api, values.definitions);
await createGateway(api, listenPort, backend.port);
const plane = owned.use(await startPlane());
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const seen = owned.use(new SeenStatuses(api));
await until(() => seen.attached === 0, { withinMs: 60_000, what: "the Gateway's status" });

const [probe, attachedBefore] = ["probe", 1];
let [revision, newRoutes] = [0, 0];
await createRoutes(api, [probe]);
{
  await using _alone = await startGateway();
  // Code that is not compiled yet takes most of their time.
  print("the first changes after the start, no other route, p50, p90, max, ms", await changed(changes));
  print("changed route → Envoy, idle, no other route, p50, p90, max, ms", await changed(changes));
}
await applyAtOnce();
owned.use(await startGateway());
print(`changed route → Envoy, idle, ${routes} routes, p50, p90, max, ms`, await changed(changes));
await whileOthersChange();
await oneByOne();
print("load average at the end", round(loadavg()[0] ?? 0));

/** At once: a run that is ended early has measured something. */
function print(name: string, figure: string | number): void {
  process.stdout.write(`${JSON.stringify({ [name]: figure })}\n`);
}

/** Without mutual TLS in the mesh: the Envoy has no agent beside it. */
async function startPlane(): Promise<ControlPlane> {
  const mesh = join(workDir, "mesh-config.yaml");
  writeFileSync(mesh, "enableAutoMtls: false\n");
  const given = { CLUSTER_KUBECONFIG: server?.kubeconfig ?? "", POD_NAMESPACE: "istio-system", LOG_LEVEL: "warn" };
  const scoped = values.scoped === undefined ? {} : { GATEWAY_SCOPED_ROUTES_ABOVE: values.scoped };
  const started = await startControlPlane({
    options: {
      ...{ embedded: false, config: undefined, mesh, networks: undefined, workDir },
      settings: { ...(env as Record<string, string>), ...given, ...scoped },
      firstPort: await freePorts(20),
    },
    logs: "files",
    onProgress: () => undefined,
  });
  await allReady(started, 120_000, () => undefined, new AbortController().signal);
  return started;
}

/** From the first request until every status is right, and from the last answer on. */
async function applyAtOnce(): Promise<void> {
  await delay(3_000);
  const before = { writes: (await writes()).length, cpu: cpuOf() };
  const startMs = performance.now();
  await createRoutes(api, names("r", routes));
  const appliedMs = performance.now();
  const soon = { withinMs: 300_000, everyMs: 5 };
  await until(() => seen.attached === attachedBefore + routes, { ...soon, what: "all routes to be counted" });
  await until(() => seen.accepted === attachedBefore + routes, { ...soon, what: "all routes to be accepted" });
  const endMs = performance.now();
  await delay(2_000);
  const made = (await writes()).slice(before.writes);
  const of = (resource: string) => made.filter((one) => one.resource.startsWith(resource)).length;
  const cpu = cpuOf();
  print("routes applied at once", routes);
  const took = [appliedMs - startMs, endMs - startMs, endMs - appliedMs].map((ms) => round(ms / 1000));
  print("applying them, s; until every status is right after the first, after the last, s", took.join("; "));
  print(
    "writes: of routes, of the Gateway, others",
    `${of("httproutes")}; ${of("gateways")}; ${made.length - of("httproutes") - of("gateways")}`,
  );
  for (const [name, seconds] of Object.entries(cpu))
    print(`CPU of ${name}, s`, round(seconds - (before.cpu[name] ?? 0)));
  print("load average then", round(loadavg()[0] ?? 0));
  print("a synchronous write beside NATS' files, p50, p90, max, ms", syncedWrites());
}

/** NATS takes no change before its disk has it: a disk that is busy with others' writes shows here. */
function syncedWrites(): string {
  const file = openSync(join(workDir, "synced"), "w");
  const took = Array.from({ length: 200 }, () => {
    const beganMs = performance.now();
    writeSync(file, Buffer.alloc(512));
    fsyncSync(file);
    return performance.now() - beganMs;
  });
  closeSync(file);
  return quantiles(took);
}

/** The services' writes to the API server, without Leases and the objects that the bench creates. */
async function writes() {
  return (await server?.writes())?.filter(({ verb, resource }) => verb !== "create" && resource !== "leases") ?? [];
}

async function startGateway(): Promise<AsyncDisposable> {
  const node = {
    ...{ type: "router" as const, name: "edge-istio", namespace, serviceAccount: "edge-istio", address: "192.0.2.9" },
    labels: { "gateway.networking.k8s.io/gateway-name": "edge" },
  };
  const discoveryAddress = `127.0.0.1:${plane.layout.ports.xds}`;
  const bootstrap = envoyBootstrap({ node, delta: true, adminPort: 0, discoveryAddress });
  const binary = await findServer("envoy", { env });
  const envoy = await startEnvoy({ binary, directory: join(workDir, "envoy"), name: node.name, bootstrap });
  await envoy.ready(60_000);
  await seenAt(listenPort, `${probe}.example`, revision);
  return envoy;
}

/** From the moment at which the API server has taken a change until Envoy answers by it: the same route again and again. */
async function changed(count: number): Promise<string> {
  const took: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    revision++;
    const looking = seenAt(listenPort, `${probe}.example`, revision);
    await changeRoute(api, probe, revision);
    const takenMs = performance.now();
    took.push((await looking) - takenMs);
    await delay(100);
  }
  return quantiles(took);
}

/** The same for routes that are new. */
async function added(count: number): Promise<string> {
  const took: number[] = [];
  for (let turn = 0; turn < count; turn++) {
    const name = `new-${++newRoutes}`;
    await createRoutes(api, [name]);
    const takenMs = performance.now();
    took.push((await seenAt(listenPort, `${name}.example`, 0)) - takenMs);
    await delay(100);
  }
  return quantiles(took);
}

function quantiles(took: readonly number[]): string {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
  const digits = at(1) < 10 ? 100 : 1;
  return [0.5, 0.9, 1].map((q) => Math.round(at(q) * digits) / digits).join(", ");
}

async function whileOthersChange(): Promise<void> {
  const others = names("c", churn);
  await createRoutes(api, others);
  await until(() => seen.attached === attachedBefore + routes + churn, {
    ...{ withinMs: 300_000, what: "all routes to be counted", everyMs: 200 },
  });
  await until(() => seen.accepted === attachedBefore + routes + churn, {
    withinMs: 300_000,
    what: "all routes to be accepted",
  });
  print(`changed route → Envoy, idle, ${routes + churn} routes, p50, p90, max, ms`, await changed(changes));
  await measureWhile("others change at the published rate, one route a second", publishedRate(others));
  await measureWhile("two clients change others without a pause", asFastAsPossible(others));
}

/** `change` changes others until its signal fires; resolves to how many. */
async function measureWhile(name: string, change: (stop: AbortSignal) => Promise<number>): Promise<void> {
  const stop = new AbortController();
  const startMs = performance.now();
  const changing = change(stop.signal);
  print(`changed route → Envoy while ${name}, p50, p90, max, ms`, await changed(changes * 3));
  print(`new route → Envoy while ${name}, p50, p90, max, ms`, await added(changes));
  stop.abort();
  const made = await changing;
  print(
    "changes of the others, a second; of how many",
    `${round((made / (performance.now() - startMs)) * 1000)}; ${churn}`,
  );
}

/** A random route each second and the endpoints of a service each two seconds, spread as gateway-api-bench spreads them. */
function publishedRate(others: readonly string[]): (stop: AbortSignal) => Promise<number> {
  const spread = (everyMs: number) => everyMs * (0.8 + Math.random() * 0.4);
  return async (stop) => {
    let made = 0;
    const routesChange = (async () => {
      for (; !stop.aborted; await delay(spread(1_000), stop))
        await changeRoute(api, others[Math.floor(Math.random() * others.length)] ?? "", ++made);
    })();
    for (let turn = 0; !stop.aborted; await delay(spread(2_000), stop)) await changeEndpoints(api, ++turn);
    await routesChange;
    return made;
  };
}

function asFastAsPossible(others: readonly string[]): (stop: AbortSignal) => Promise<number> {
  return async (stop) => {
    let made = 0;
    const lane = async (first: number) => {
      for (let at = first; !stop.aborted; at += 2) await changeRoute(api, others[at % others.length] ?? "", ++made);
    };
    await Promise.all([lane(0), lane(1)]);
    return made;
  };
}

async function oneByOne(): Promise<void> {
  const load = startLoad(listenPort, "r-1.example", 4);
  for (const name of names("m", many)) await createRoutes(api, [name]);
  await seenAt(listenPort, `m-${many - 1}.example`, 0);
  const { answered, failed } = await load.stop();
  print("routes one by one under load: requests answered, failed", `${answered}, ${failed.length}`);
}

/** Seconds by service. */
function cpuOf(): Readonly<Record<string, number>> {
  return Object.fromEntries(
    plane.services.map(({ name, pid }) => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return [name, (Number(fields[11]) + Number(fields[12])) / 100];
    }),
  );
}

function round(figure: number): number {
  return Math.round(figure * 100) / 100;
}
