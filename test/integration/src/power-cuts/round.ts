/**
 * One power cut: writes before, a copy of the disks at some moment, writes after it, the kill, what is lost, services that are stopped
 * meanwhile or not, and the return in any order. Afterwards what is served must be what the sources have.
 */
import { delay } from "@flotilla/runtime";
import { apiHosts, fileHosts, type Mesh, type ServiceName, serviceNames } from "./mesh.ts";
import { type Sidecar, servedText } from "./sidecar.ts";
import { type Loss, losses, type StoreName, type Stores, storeNames } from "./stores.ts";

export interface World {
  readonly mesh: Mesh;
  readonly stores: Stores;
  readonly connected: Sidecar;
  /** As the test left them. */
  readonly files: Map<string, number>;
  /** The acknowledged values; of a write in doubt both values. */
  readonly written: Map<string, readonly (number | undefined)[]>;
  endpoint: number;
  readonly random: () => number;
}

export interface RoundPlan {
  readonly losses: Readonly<Record<StoreName, Loss | "untouched">>;
  readonly stopped: readonly ServiceName[];
  readonly writesBefore: number;
  readonly writesAfter: number;
  /** Of the files, while the stores are away. */
  readonly writesAway: number;
  /** Stores and services in the order in which they come back. */
  readonly order: readonly (StoreName | ServiceName)[];
  readonly pauseMs: number;
}

export interface RoundResult {
  readonly plan: RoundPlan;
  /** Of the rotation of the root when the disks were copied; undefined: ca did not answer. */
  readonly phase: string | undefined;
  /** Until everything that is served was right; after everything was started again. */
  readonly convergedAfterMs: number;
  /** Acknowledged writes that are gone, and named. */
  readonly reported: readonly string[];
  readonly failure?: string;
}

/**
 * Rounds take a second; what has not converged after both of these never will. The second is time of a processor: test and services are one
 * process, and where that gets a hundredth of one, a TLS handshake takes longer than the ten seconds that the API gives it.
 */
const convergeWithinMs = 180_000;
const convergeWithinCpuMs = 10_000;

export function planRound(random: () => number): RoundPlan {
  const count = (most: number) => Math.floor(random() * (most + 1));
  const oneOf = <T>(items: readonly [T, ...T[]]): T => items[Math.floor(random() * items.length)] ?? items[0];
  const kinds = ["untouched", ...losses] as const;
  const lost = { nats: oneOf(kinds), redis: oneOf(kinds) };
  const stopped = serviceNames.filter(() => random() < 0.3);
  const cut = storeNames.filter((name) => lost[name] !== "untouched");
  const order = [...cut, ...stopped]
    .map((name) => ({ name, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ name }) => name);
  return {
    ...{ losses: lost, stopped, order, pauseMs: count(300) },
    ...{ writesBefore: count(3), writesAfter: count(4), writesAway: count(2) },
  };
}

export async function runRound(world: World, plan: RoundPlan): Promise<RoundResult> {
  const { mesh, stores, random } = world;
  const cut = storeNames.filter((name) => plan.losses[name] !== "untouched");
  await mesh.root.operate();
  await writeSome(world, plan.writesBefore);
  const renewing = random() < 0.5 && mesh.root.renew();
  const writing = Promise.all([writeSome(world, plan.writesAfter), renewing, mesh.root.operate()]);
  const phase = await mesh.root.phase();
  if (random() < 0.5) await delay(random() * 40);
  for (const name of storeNames) stores.copy(name);
  await writing;
  await Promise.all([
    ...cut.map((name) => stores.kill(name)),
    ...plan.stopped.map(async (name) => mesh.stopService(name)),
  ]);
  for (const name of cut) stores.lose(name, plan.losses[name] as Loss);
  for (let at = 0; at < plan.writesAway; at++) writeFiles(world);
  for (const name of plan.order) {
    if (isStore(name)) await stores.start(name);
    else mesh.startService(name);
    await delay(plan.pauseMs * random());
  }
  return check(world, plan, phase);
}

async function check(world: World, plan: RoundPlan, phase: string | undefined): Promise<RoundResult> {
  const since = performance.now();
  const usedBefore = process.cpuUsage();
  const usedMs = (): number => {
    const { user, system } = process.cpuUsage(usedBefore);
    return (user + system) / 1_000;
  };
  const mayConverge = () => performance.now() - since < convergeWithinMs || usedMs() < convergeWithinCpuMs;
  const reported = new Set<string>();
  let { problem, expected } = await whatDiffers(world, reported);
  while (problem !== "" && mayConverge()) {
    await delay(50);
    ({ problem, expected } = await whatDiffers(world, reported));
  }
  const convergedAfterMs = performance.now() - since;
  const result = { plan, phase, convergedAfterMs, reported: [...reported] };
  if (problem !== "") {
    const pages = await Promise.all(serviceNames.map((name) => world.mesh.readyPage(name)));
    const time = `${Math.round(convergedAfterMs)} ms, ${Math.round(usedMs())} ms of a processor`;
    return {
      ...result,
      failure: `${problem}; after ${time}; ready: ${pages.map((page) => page.slice(0, 400)).join(" ")}`,
    };
  }
  // An xds-server that has just started may serve both what its snapshot has, for a moment.
  await using late = world.mesh.sidecar("late");
  const { connected } = world;
  const isServed = () => late.served === expected && connected.served === expected;
  while (!isServed() && mayConverge()) await delay(20);
  const failure = `a new sidecar has ${late.served}, the connected one ${connected.served}, the sources have ${expected}`;
  return isServed() ? result : { ...result, failure };
}

interface Difference {
  /** Empty when everything agrees. */
  readonly problem: string;
  /** As the sources have it, to be served. */
  readonly expected: string;
}

async function whatDiffers(world: World, reported: Set<string>): Promise<Difference> {
  const { mesh, files } = world;
  const routes = await mesh.api.routes();
  if (routes === undefined) return { problem: `the API does not answer: ${mesh.api.problem}`, expected: "" };
  const expected = servedText(new Map([...files, ...routes]), world.endpoint);
  return { problem: await problemOf(world, reported, routes, expected), expected };
}

async function problemOf(
  { mesh, connected, written }: World,
  reported: Set<string>,
  routes: ReadonlyMap<string, number>,
  expected: string,
): Promise<string> {
  const page = await mesh.readyPage("config-controller");
  for (const [host, allowed] of written) {
    const value = routes.get(host);
    if (allowed.includes(value)) continue;
    if (!page.includes(`VirtualService/shop/${host}`))
      return `the API has ${host}=${value}, acknowledged was ${allowed.join(" or ")}, and no loss is named`;
    reported.add(host);
  }
  const unknown = [...routes.keys()].filter((host) => !written.has(host));
  if (unknown.length > 0) return `the API has ${unknown.join(" ")}, which were never written`;
  if (connected.served !== expected) return `served is ${connected.served}, the sources have ${expected}`;
  const rootProblem = await mesh.root.whatDiffers(await mesh.servedRoot());
  if (rootProblem !== "") return rootProblem;
  for (const host of written.keys()) written.set(host, [routes.get(host)]);
  return "";
}

async function writeSome(world: World, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    if (world.random() < 0.4) writeFiles(world);
    else await writeOverApi(world);
  }
}

function writeFiles(world: World): void {
  const { mesh, files, random } = world;
  if (random() < 0.3) {
    world.endpoint = 1 + Math.floor(random() * 200);
    mesh.writeEndpoint(world.endpoint);
    return;
  }
  const host = fileHosts[Math.floor(random() * fileHosts.length)] ?? fileHosts[0];
  if (random() < 0.25) files.delete(host);
  else files.set(host, 1 + Math.floor(random() * 900));
  mesh.writeRoutes(files);
}

async function writeOverApi({ mesh, written, random }: World): Promise<void> {
  const host = apiHosts[Math.floor(random() * apiHosts.length)] ?? apiHosts[0];
  const timeout = random() < 0.25 ? undefined : 1 + Math.floor(random() * 900);
  const before = written.get(host) ?? [undefined];
  const outcome = await mesh.api.write(host, timeout);
  written.set(host, outcome === "stored" ? [timeout] : [...before, timeout]);
}

function isStore(name: StoreName | ServiceName): name is StoreName {
  return storeNames.some((store) => store === name);
}
