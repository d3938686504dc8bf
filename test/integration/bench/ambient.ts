/**
 * `pnpm bench:ambient [--services N] [--pods N] [--ztunnels N] [--changes N] [--seconds N] [--churn N] [--kubeconfig FILE]
 * [--istiod FILE | --against HOST:PORT,PID]`: an ambient mesh in a Kubernetes API. All ztunnels synced, and as many again; one pod changed, until each has
 * it; 100 pods born and gone a second, until the ztunnel of the pod's node has it; with `--churn N` births and deaths, and the memory
 * along the way. Without `--kubeconfig` a kube-apiserver is started. Services are those of the bundle that images have. `--istiod` measures a
 * pilot-discovery in their place, `--against` a control plane that reads that API already. Everything shares the machine: the CPU of the control
 * plane stands apart.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { delay, until } from "@flotilla/runtime";
import { bundleServices } from "../../../scripts/tests/test-bundle.ts";
import { lastingChurn, timedBirths } from "./ambient/births.ts";
import { fillMesh, giveAddress, uidOf } from "./ambient/cluster.ts";
import { cpuOf, type MeasuredPlane, ownPlane, runningPlane, startIstiod } from "./ambient/control-plane.ts";
import { printCpu, printFigure, quantiles, round } from "./ambient/figures.ts";
import { startZtunnels, type Ztunnels } from "./ambient/ztunnels.ts";

const { values } = parseArgs({
  options: {
    services: { type: "string", default: "2000" },
    pods: { type: "string", default: "10000" },
    ztunnels: { type: "string", default: "50" },
    changes: { type: "string", default: "200" },
    seconds: { type: "string", default: "60" },
    churn: { type: "string", default: "0" },
    kubeconfig: { type: "string" },
    istiod: { type: "string" },
    against: { type: "string" },
  },
});
const [services, pods, count, changes, seconds, churn] = [
  values.services,
  values.pods,
  values.ztunnels,
  values.changes,
  values.seconds,
  values.churn,
].map(Number) as [number, number, number, number, number, number];
const spread = { services, nodes: count };

const { env } = process;
await using owned = new AsyncDisposableStack();
const kubeconfig = values.kubeconfig ?? (await ownApiserver());
const config = await loadKubeConfig({ KUBECONFIG: kubeconfig });
if (config === undefined) throw new Error(`${kubeconfig} names no API server`);
const api = owned.use(openKubeApi(config));
await fillMesh(api, { services, pods, nodes: count });
printFigure("services, pods, ztunnels", `${services}, ${pods}, ${count}`);
const plane = owned.use(await measuredPlane());
printCpu(plane, "starting, until ready", {});
// Memory that the start left to collect is no part of what follows.
await delay(20_000);
const ztunnels = await syncAll("all");
const ofBirths = { api, plane, ztunnels, spread };
await syncMore();
await changeOneByOne();
if (seconds > 0) await timedBirths({ ...ofBirths, firstPod: pods }, seconds);
if (churn > 0) await lastingChurn({ ...ofBirths, firstPod: pods }, churn);
printFigure("load average", round(loadavg()[0] ?? 0));

async function ownApiserver(): Promise<string> {
  const server = await startKubeApiserver(env);
  if (server === undefined) throw new Error(whyNoApiserver);
  return owned.use(server).kubeconfig;
}

async function measuredPlane(): Promise<MeasuredPlane> {
  if (values.against !== undefined) return runningPlane(values.against);
  if (values.istiod !== undefined) return await startIstiod(values.istiod, kubeconfig, env);
  process.env["FLOTILLA_TEST_BUNDLE"] ??= bundleServices();
  return await ownPlane(kubeconfig, env);
}

async function syncAll(which: string): Promise<Ztunnels> {
  const [cpuBefore, startMs] = [cpuOf(plane), performance.now()];
  const fleet = owned.use(startZtunnels(plane.xdsAddress, count));
  const isSynced = () => fleet.synced(services + pods) === count;
  await until(isSynced, { withinMs: 600_000, what: "all ztunnels to be synced", everyMs: 10 });
  printFigure(`${which} synced, s`, round((performance.now() - startMs) / 1_000));
  printFigure("MB sent", round(fleet.bytes / 1e6));
  printCpu(plane, `${which} syncing`, cpuBefore);
  return fleet;
}

/** The cost of the streams alone: the resources are computed. */
async function syncMore(): Promise<void> {
  await delay(2_000);
  const more = await syncAll("as many again");
  await more[Symbol.asyncDispose]();
}

/** A pod gets another address, with nothing else going on. */
async function changeOneByOne(): Promise<void> {
  await delay(2_000);
  const before = { cpu: cpuOf(plane), bytes: ztunnels.bytes };
  const took: number[] = [];
  for (let change = 0; change < changes; change++) {
    const pod = (change * 37) % pods;
    const startMs = performance.now();
    const all = waitForAll(ztunnels, uidOf(pod), () => took.push(performance.now() - startMs));
    await giveAddress(api, pod, spread, 1);
    await all;
    await delay(100);
  }
  printFigure("one pod changed: p50, p99, max, ms", quantiles(took));
  printFigure("bytes a change and ztunnel", Math.round((ztunnels.bytes - before.bytes) / changes / count));
  printCpu(plane, `${changes} changes`, before.cpu);
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
