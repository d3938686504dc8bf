/**
 * `pnpm bench:failover`: what the loss of a NATS server and of the Redis primary does to a mesh in a cluster with
 * k8s/overlays/high-availability. A VirtualService changes all the time; xDS clients note when each change arrives.
 * KUBECONFIG names the cluster; its Services and pods must be reachable from here.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { delay, until } from "@flotilla/runtime";
import { streamsOf } from "../src/replicas/nats-streams.ts";
import { ChangeWatcher } from "./failover/change-watcher.ts";
import { startChanges } from "./failover/changes.ts";

const namespace = "istio-system";
const clientCount = 40;
const run = promisify(execFile);

async function kubectl(...args: readonly string[]): Promise<string> {
  return (await run("kubectl", args, { maxBuffer: 2 ** 26 })).stdout.trim();
}

const inPod = (pod: string, container: string, ...command: readonly string[]) =>
  kubectl("-n", namespace, "exec", pod, "-c", container, "--", ...command);

const redis = (pod: string, ...command: readonly string[]) =>
  inPod(pod, "redis", "redis-cli", "-s", "/certificates/redis.sock", ...command);

/** The pod that leads the stream of all changes. */
async function streamLeader(): Promise<string> {
  const ip = await kubectl("-n", namespace, "get", "pod", "flotilla-nats-0", "-o", "jsonpath={.status.podIP}");
  const streams = await streamsOf([`http://${ip}:8222`]);
  return streams.find(({ name }) => name === "FLOTILLA")?.leader ?? "";
}

/** After a kill the pod that was the primary may be it again: a pod that is back before a failover keeps its data. */
async function redisPrimary(): Promise<string | undefined> {
  for (const pod of [0, 1, 2].map((i) => `flotilla-redis-${i}`)) {
    const role = await redis(pod, "role").catch(() => "");
    if (role.startsWith("master")) return pod;
  }
  return undefined;
}

const kill = (pod: string) => kubectl("-n", namespace, "delete", "pod", pod, "--grace-period=0", "--force");
const ready = (resource: string) => kubectl("-n", namespace, "rollout", "status", resource, "--timeout=600s");
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function main(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  const ip = await kubectl("-n", namespace, "get", "service", "istiod", "-o", "jsonpath={.spec.clusterIP}");
  const changes = owned.use(await startChanges());
  const clients = Array.from({ length: clientCount }, (_, i) => owned.use(new ChangeWatcher(`${ip}:15010`, i)));
  const all = (number: number) => clients.every(({ latest }) => latest >= number);
  await until(() => clients.every(({ latest }) => latest > 0), { withinMs: 120_000, what: "a first change" });

  /** Changes that were made from `work` on until `forMs` after it: how long they took to all clients. */
  const during = async (what: string, work: () => Promise<string>, forMs: number): Promise<void> => {
    const from = changes.last;
    const connects = clients.reduce((sum, client) => sum + client.connects, 0);
    const note = await work();
    await delay(forMs);
    const to = changes.last;
    await until(() => all(to), { withinMs: 180_000, what: `change ${to} on all clients` });
    const late: number[] = [];
    for (let number = from + 1; number <= to; number++) {
      const made = changes.madeAt(number);
      if (made !== undefined) late.push(Math.max(...clients.map((client) => client.arrivedAt(number) - made)));
    }
    late.sort((a, b) => a - b);
    const reconnects = clients.reduce((sum, client) => sum + client.connects, 0) - connects;
    const lost = clients.filter(({ latest }) => latest < to).length;
    const p50 = late[Math.floor(late.length / 2)] ?? 0;
    const row = [what, late.length, seconds(p50), seconds(late.at(-1) ?? 0), lost, reconnects, note];
    process.stdout.write(`| ${row.join(" | ")} |\n`);
  };

  process.stdout.write(
    "| | changes | p50 to all clients | slowest | lost | streams opened again | |\n|---|---|---|---|---|---|---|\n",
  );
  await during("nothing", () => Promise.resolve(""), 15_000);
  await during(
    "the NATS server that leads the stream killed",
    async () => {
      const pod = await streamLeader();
      await kill(pod);
      return `${pod} ready again after ${seconds(await timed(() => ready("statefulset/flotilla-nats")))}`;
    },
    10_000,
  );
  await during(
    "the Redis primary killed, and a replica of xds-server added",
    async () => {
      const old = (await redisPrimary()) ?? "";
      const position = (pod: string) => redis(pod, "hget", "flotilla:v1:snapshot:about", "position").then(Number);
      const before = await position(old);
      const replicas = Number(
        await kubectl("-n", namespace, "get", "deployment/flotilla-xds-server", "-o", "jsonpath={.spec.replicas}"),
      );
      await kill(old);
      const began = performance.now();
      const writtenTo = async () => {
        const primary = await redisPrimary();
        const isWritten = primary !== undefined && (await position(primary).catch(() => 0)) > before;
        return isWritten ? primary : undefined;
      };
      const primary = await until(writtenTo, { withinMs: 180_000, what: "a write to the primary", everyMs: 250 });
      const written = performance.now() - began;
      await kubectl("-n", namespace, "scale", "deployment/flotilla-xds-server", `--replicas=${replicas + 1}`);
      const added = await timed(() => ready("deployment/flotilla-xds-server"));
      await kubectl("-n", namespace, "scale", "deployment/flotilla-xds-server", `--replicas=${replicas}`);
      return `${old} was the primary, ${primary} is; the snapshot is written again after ${seconds(written)}; the new replica ready after ${seconds(added)}`;
    },
    10_000,
  );
}

await main();
