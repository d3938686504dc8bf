/** Pods that are created and deleted: when the ztunnel of the node has received each, and the cost of lasting churn. */
import { type KubeApi, type KubeObject, mirror } from "@flotilla/kube-api";
import { delay } from "@flotilla/runtime";
import { createPod, deletePod, giveAddress, inLanes, type Spread, uidOf } from "./cluster.ts";
import { cpuOf, type MeasuredPlane, memoryOf } from "./control-plane.ts";
import { printCpu, printFigure, quantiles, round } from "./figures.ts";
import type { Ztunnels } from "./ztunnels.ts";

export interface Churn {
  readonly api: KubeApi;
  readonly plane: MeasuredPlane;
  readonly ztunnels: Ztunnels;
  readonly spread: Spread;
  /** Number of the first pod that is born. */
  readonly firstPod: number;
}

interface Birth {
  readonly node: number;
  readonly writtenAtMs: number;
}

const perSecond = 100;

/** Of 100 changes a second half are births; each pod lives for some seconds. */
export async function timedBirths({ api, plane, ztunnels, spread, firstPod }: Churn, seconds: number): Promise<void> {
  const before = { cpu: cpuOf(plane), bytes: ztunnels.bytes, messages: ztunnels.messages };
  const [knownMs, afterShownMs, addressedMs]: [number[], number[], number[]] = [[], [], []];
  const born = new Map<string, Birth>();
  await using shown = watchAddresses(api);
  ztunnels.onName = (ztunnel, name, isThere) => {
    const birth = born.get(name);
    if (!isThere || birth?.node !== ztunnel) return;
    born.delete(name);
    const nowMs = performance.now();
    knownMs.push(nowMs - birth.writtenAtMs);
    afterShownMs.push(nowMs - (shown.atMs.get(name) ?? nowMs));
  };
  const memory = [await memoryOf(plane)];
  const births = (seconds * perSecond) / 2;
  const lifetime = 5 * (perSecond / 2);
  const pods = new Map<number, Promise<void>>();
  const deaths: Promise<unknown>[] = [];
  const startMs = performance.now();
  for (let index = 0; index < births + lifetime; index++) {
    const [pod, old] = [firstPod + index, firstPod + index - lifetime];
    if (index < births)
      pods.set(
        pod,
        bear({ api, spread, born, pod }, (ms) => addressedMs.push(ms)),
      );
    // On a slow machine the pod may still be on its way.
    if (index >= lifetime) deaths.push((pods.get(old) ?? Promise.resolve()).then(() => deletePod(api, old)));
    if (index % (births / 4) === 0 && index > 0) memory.push(await memoryOf(plane));
    await delay(Math.max(0, startMs + ((index + 1) * 2_000) / perSecond - performance.now()));
  }
  await Promise.all([...pods.values(), ...deaths]);
  const took = (performance.now() - startMs) / 1_000;
  await delay(3_000);
  printFigure("births that the ztunnel of the node has not heard of", born.size);
  printFigure("births and deaths, a second", `${2 * births}, ${round((2 * births) / took)}`);
  printFigure("address written → ztunnel of the node: p50, p99, max, ms", quantiles(knownMs));
  printFigure("address shown by a watch → ztunnel of the node: p50, p99, max, ms", quantiles(afterShownMs));
  printFigure("address written → answer of the API server: p50, p99, max, ms", quantiles(addressedMs));
  const bytes = (ztunnels.bytes - before.bytes) / ztunnels.count;
  const messages = round((ztunnels.messages - before.messages) / ztunnels.count);
  printFigure("bytes a change and ztunnel; messages", `${Math.round(bytes / births / 2)}; ${messages}`);
  printFigure("RSS/heap of what serves ztunnels, along the way, MB", memory.join(", "));
  printCpu(plane, "births and deaths", before.cpu);
}

interface Bearing {
  readonly api: KubeApi;
  readonly spread: Spread;
  readonly born: Map<string, Birth>;
  readonly pod: number;
}

async function bear({ api, spread, born, pod }: Bearing, onAddressed: (ms: number) => void): Promise<void> {
  await createPod(api, pod, spread);
  const writtenAtMs = performance.now();
  born.set(uidOf(pod), { node: pod % spread.nodes, writtenAtMs });
  await giveAddress(api, pod, spread);
  onAddressed(performance.now() - writtenAtMs);
}

/** As many births and deaths as the API server takes, with the memory at each tenth of them. */
export async function lastingChurn({ api, plane, spread, firstPod }: Churn, changes: number): Promise<void> {
  const before = cpuOf(plane);
  const memory = [await memoryOf(plane)];
  const tenth = Math.ceil(changes / 20);
  const startMs = performance.now();
  for (let part = 0; part < 10; part++) {
    await inLanes(tenth, async (index) => {
      const pod = firstPod + ((part * tenth + index) % 60_000);
      await createPod(api, pod, spread);
      await giveAddress(api, pod, spread);
      await deletePod(api, pod);
    });
    memory.push(await memoryOf(plane));
    const seconds = (performance.now() - startMs) / 1_000;
    printFigure(
      `RSS/heap after ${(part + 1) * tenth * 2} births and deaths, MB; s`,
      `${memory.at(-1)}; ${round(seconds)}`,
    );
  }
  await delay(10_000);
  printFigure("RSS/heap of what serves ztunnels, along the way, MB", [...memory, await memoryOf(plane)].join(", "));
  printCpu(plane, "births and deaths", before);
}

interface ShownAddresses extends AsyncDisposable {
  /** By uid: when an ordinary watch of the API server showed the pod with its address. */
  readonly atMs: ReadonlyMap<string, number>;
}

function watchAddresses(api: KubeApi): ShownAddresses {
  const atMs = new Map<string, number>();
  const stop = new AbortController();
  const follow = async (): Promise<void> => {
    const watch = { path: "/api/v1/pods", random: Math.random, onState: () => undefined };
    const pods = mirror<KubeObject & { readonly status?: { readonly podIP?: string } }>(api, watch, stop.signal);
    for await (const event of pods) {
      if (event.type !== "put" || event.object.status?.podIP === undefined) continue;
      const uid = `Kubernetes//Pod/${event.object.metadata.namespace}/${event.object.metadata.name}`;
      if (!atMs.has(uid)) atMs.set(uid, performance.now());
    }
  };
  const following = follow();
  return {
    atMs,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
    },
  };
}
