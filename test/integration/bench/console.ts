/**
 * `pnpm bench:console` (second half): the console before a real control plane with 2,000 services and 1,000 proxies. First views, filters and searches in the
 * system's Chromium; then what five open consoles cost xds-server, alternately with none, in a mesh where nothing happens and in one where a route changes every
 * few seconds. One JSON line. `[--services N] [--proxies N] [--seconds N] [--rounds N] [--only page|idle|changing] [--profile FILE]`; the profile is of xds-server
 * in the last turn with consoles.
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { filtered, firstView, launchChromium, openPage, repeated, searched, signIn } from "@flotilla/console/testing";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { delay } from "@flotilla/runtime";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { meshObjects, virtualServiceOf } from "../../../services/xds-server/bench/mesh-objects.ts";
import { type Launched, launch, program } from "../src/local/flotilla.ts";

const { values } = parseArgs({
  options: {
    services: { type: "string", default: "2000" },
    proxies: { type: "string", default: "1000" },
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "3" },
    tries: { type: "string", default: "10" },
    only: { type: "string" },
    profile: { type: "string" },
  },
});
const [services, proxies, rounds, tries] = [values.services, values.proxies, values.rounds, values.tries].map(
  Number,
) as [number, number, number, number];
const turnMs = Number(values.seconds) * 1_000;
const editEveryMs = 5_000;
const connectedAtOnce = 50;
/** One of its own, since other control planes of the machine may have the well-known port. */
const introspectionHost = "127.0.0.9";
const namespaces = Array.from({ length: 10 }, (_, i) => `team-${i}`);
/** One for each console that is open. */
const openScreens = ["/", "/proxies", "/objects", "/changes", "/topology"];

const config = mkdtempSync(join(tmpdir(), "flotilla-console-bench-"));
const put = (name: string, text: string): void => {
  writeFileSync(join(config, `${name}.new`), text);
  renameSync(join(config, `${name}.new`), join(config, name));
};
const editRoute = (mark: string): void => put("route.yaml", JSON.stringify(virtualServiceOf(1, mark)));
put(
  "services.yaml",
  meshObjects(services)
    .slice(0, services)
    .map((object) => JSON.stringify(object))
    .join("\n---\n"),
);
editRoute("first");
put("sidecar.yaml", JSON.stringify(narrowSidecar()));

try {
  await using plane = await launch({
    ...{ command: [process.execPath, program, "serve"], args: ["--config", config] },
    env: { INTROSPECTION_HOST: introspectionHost },
  });
  await plane.ready();
  await using fleet = await connectFleet(plane);
  const issuer = await openLocalIssuer(plane.workDir);
  const token = await issuer.mintToken({
    ...{ namespace: "istio-system", serviceAccount: "flotilla-admin", audience: "flotilla-api" },
  });
  const url = `http://localhost:${plane.firstPort + 10}`;
  await using browser = await launchChromium();
  const isAsked = (part: string): boolean => values.only === undefined || values.only === part;
  const page = isAsked("page") ? await measurePage(browser, url, token) : undefined;
  const idle = isAsked("idle") ? await compare(plane, browser, url, token, false) : undefined;
  const changing = isAsked("changing") ? await compare(plane, browser, url, token, true) : undefined;
  if (values.profile !== undefined) {
    await using _consoles = await openConsoles(browser, url, token);
    const profile = fetch(`http://${introspectionHost}:9876/profile/cpu?seconds=${turnMs / 1_000}`);
    await turn(plane, true, "profile");
    writeFileSync(values.profile, await (await profile).text());
  }
  const load = Number((loadavg()[0] ?? 0).toFixed(2));
  const { received } = fleet;
  const figures = { bench: "console", services, proxies, page, xdsServerCpu: { idle, changing }, received, load };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  rmSync(config, { recursive: true, force: true });
}

/** For every proxy a tenth of the services at most, as meshes of this size have it: what proxies hold is no part of what is measured. */
function narrowSidecar(): object {
  const hosts = Array.from({ length: Math.min(100, services) }, (_, i) => `mesh/svc-${i}.mesh.example`);
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    metadata: { name: "default", namespace: "istio-system" },
    spec: { egress: [{ hosts }] },
  };
}

/** Proxies of ten namespaces, each with a connection of its own, that acknowledge everything; all have their clusters. */
async function connectFleet({ firstPort }: Launched) {
  const stop = new AbortController();
  const counts = { received: 0 };
  const running: Promise<void>[] = [];
  const connect = (i: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const [ip, namespace = ""] = [`10.9.${i >> 8}.${i & 255}`, namespaces[i % namespaces.length]];
    const labels = { app: `client-${i}` };
    const metadata = { NAMESPACE: namespace, INSTANCE_IPS: ip, LABELS: labels, ISTIO_VERSION: "1.32.0" };
    const client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: `127.0.0.1:${firstPort}` }),
      node: create(NodeSchema, {
        id: `sidecar~${ip}~client-${i}.${namespace}~${namespace}.svc.cluster.local`,
        metadata,
      }),
      keepBytes: false,
      backoffMs: () => 500,
      onUpdate: ({ typeUrl: type }) => {
        counts.received += 1;
        if (type === typeUrl.cluster) resolve();
      },
    });
    client.subscribe(typeUrl.cluster);
    client.subscribe(typeUrl.route, ["80"]);
    running.push(client.run(stop.signal));
    return promise;
  };
  const numbers = Array.from({ length: proxies }, (_, i) => i);
  for (let from = 0; from < proxies; from += connectedAtOnce)
    await Promise.all(numbers.slice(from, from + connectedAtOnce).map(connect));
  return {
    get received() {
      return counts.received;
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await Promise.all(running);
    },
  };
}

type Browser = Awaited<ReturnType<typeof launchChromium>>;

async function measurePage(browser: Browser, url: string, token: string) {
  await using window = await openPage(browser);
  const { page } = window;
  await signIn(page, url, token);
  const views: Record<string, unknown> = {};
  for (const path of ["/", "/proxies", "/objects", "/changes", "/topology", "/topology/mesh"])
    views[path] = await repeated(tries, () => firstView(page, `${url}${path}`));
  await firstView(page, `${url}/proxies`);
  // Each time another namespace: what was shown before is shown at once.
  const filter = await repeated(Math.min(tries, namespaces.length), (at) =>
    filtered(page, "namespace", namespaces[at] ?? ""),
  );
  await firstView(page, `${url}/proxies`);
  const search = await repeated(tries, (at) => searched(page, `client-1${at}`));
  await firstView(page, `${url}/objects`);
  const searchObjects = await repeated(tries, (at) => searched(page, `svc-1${at}`));
  return { views, filter, search, searchObjects };
}

/** Seconds of processor time that xds-server takes in a turn without a console, and in one with five. */
async function compare(plane: Launched, browser: Browser, url: string, token: string, isChanging: boolean) {
  const turns: { readonly without: number; readonly withFive: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await turn(plane, isChanging, `${round}-0`);
    await using _consoles = await openConsoles(browser, url, token);
    turns.push({ without, withFive: await turn(plane, isChanging, `${round}-5`) });
  }
  const mean = (of: (turn: (typeof turns)[number]) => number): number =>
    turns.reduce((sum, one) => sum + of(one), 0) / turns.length;
  const share = (seconds: number): number => Number(((100 * seconds * 1_000) / turnMs).toFixed(2));
  const [without, withFive] = [mean((one) => one.without), mean((one) => one.withFive)];
  return {
    percentWithout: share(without),
    percentWithFive: share(withFive),
    percentMore: share(withFive - without),
    secondsOfTurns: turns.map((one) => [one.without, one.withFive]),
  };
}

async function openConsoles(browser: Browser, url: string, token: string): Promise<AsyncDisposable> {
  const consoles = new AsyncDisposableStack();
  for (const screen of openScreens) {
    const { page } = consoles.use(await openPage(browser));
    await signIn(page, `${url}${screen}`, token);
    await page.locator("tbody tr").first().waitFor();
  }
  return consoles;
}

async function turn(plane: Launched, isChanging: boolean, mark: string): Promise<number> {
  const before = cpuSeconds(plane);
  const untilMs = performance.now() + turnMs;
  for (let edit = 0; performance.now() < untilMs; edit++) {
    if (isChanging) editRoute(`${mark}-${edit}`);
    await delay(Math.min(editEveryMs, Math.max(0, untilMs - performance.now())), new AbortController().signal);
  }
  return Number((cpuSeconds(plane) - before).toFixed(2));
}

/** User and system time of xds-server, in seconds (clock ticks of 10 ms). */
function cpuSeconds(plane: Launched): number {
  const pid = plane.running()?.services.find(({ name }) => name === "xds-server")?.pid;
  if (pid === undefined) throw new Error("no xds-server runs");
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
