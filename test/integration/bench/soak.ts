/**
 * `pnpm soak [--minutes N] [--proxies N] [--changes N] [--fault-minutes N]`: five services as processes with a real NATS and Redis,
 * simulated proxies, changes all the time, proxies that reconnect, certificates that are renewed, a fault from time to time. Prints the
 * memory of each process with its slope, and ends with an error where a proxy does not match the files at the end.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import { allReady, type ControlPlane, paths, startControlPlane } from "@flotilla/cli/testing";
import { seededRandom } from "@flotilla/proto/testing";
import { delay, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { Stores } from "../src/power-cuts/stores.ts";
import { MemoryLog } from "./soak/memory.ts";
import { MeshFiles } from "./soak/mesh-files.ts";
import { Proxies } from "./soak/proxies.ts";

const number = (usual: string) => ({ type: "string", default: usual }) as const;
const { values } = parseArgs({
  options: { minutes: number("120"), proxies: number("1000"), changes: number("20"), "fault-minutes": number("5") },
});
const [runMs, faultMs] = [Number(values.minutes) * 60_000, Number(values["fault-minutes"]) * 60_000];
const changesASecond = Number(values.changes);
const faults = ["xds-server", "nats", "config-controller", "redis", "service-controller", "ca"] as const;
const showMs = 600_000;
const random = seededRandom(1);
const say = (text: string) => process.stdout.write(`${text}\n`);

interface Soak {
  readonly plane: ControlPlane;
  readonly stores: Stores;
  readonly files: MeshFiles;
  readonly proxies: Proxies;
  readonly memory: MemoryLog;
  readonly counts: { changes: number; renewals: number; failedRenewals: number; faults: number };
}

const workDir = mkdtempSync(join(tmpdir(), "flotilla-soak-"));
try {
  await main();
} finally {
  rmSync(workDir, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const config = join(workDir, "config");
  const files = new MeshFiles(config);
  await using stores = await Stores.start(join(workDir, "servers"), random);
  const settings = { BUS_URL: stores.url("nats"), STORE_URL: stores.url("redis"), LOG_LEVEL: "warn" };
  const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
  const firstPort = await freePorts(12);
  await using plane = await startControlPlane({
    ...{ options: { ...options, firstPort }, logs: "files", onProgress: () => undefined },
    onEvent: (event) => say(`${new Date().toISOString()} ${JSON.stringify(event)}`),
  });
  await allReady(plane, 120_000, () => undefined, new AbortController().signal);
  await using proxies = new Proxies(`127.0.0.1:${plane.layout.ports.xds}`, Number(values.proxies));
  const expected = (namespace: number) => files.expected(namespace);
  const rightWithin = async (ms: number): Promise<number> => {
    const since = performance.now();
    await until(() => proxies.wrong(expected).length === 0, {
      withinMs: ms,
      what: "every proxy to agree",
      everyMs: 500,
    });
    return Math.round(performance.now() - since);
  };
  say(`all ${values.proxies} proxies served after ${await rightWithin(300_000)} ms, load ${loads()}`);
  const counts = { changes: 0, renewals: 0, failedRenewals: 0, faults: 0 };
  await run({ plane, stores, files, proxies, memory: new MemoryLog(), counts }, rightWithin);
}

async function run(soak: Soak, rightWithin: (ms: number) => Promise<number>): Promise<void> {
  const { plane, files, proxies, memory, counts } = soak;
  const issuer = await openLocalIssuer(workDir);
  const since = performance.now();
  let [faultAt, noteAt, showAt] = [faultMs, 0, showMs];
  for (let second = 0; performance.now() - since < runMs; second++) {
    for (let at = 0; at < changesASecond; at++) files.change(random);
    counts.changes += changesASecond;
    await Promise.all([proxies.replace(random), proxies.replace(random), renew(soak, issuer)]);
    const elapsed = performance.now() - since;
    if (elapsed > noteAt) {
      for (const { name, pid } of plane.services) if (pid !== undefined) memory.note(name, pid, elapsed);
      noteAt += 10_000;
    }
    if (elapsed > showAt) {
      show(soak);
      showAt += showMs;
    }
    if (elapsed > faultAt) {
      await fault(soak);
      faultAt += faultMs;
    }
    await delay(Math.max(0, since + (second + 1) * 1_000 - performance.now()));
  }
  show(soak);
  const agreedAfter = await rightWithin(300_000);
  say(`every proxy has what the files say ${agreedAfter} ms after the last change`);
}

/** Shows the counts so far, and the memory of each process that ran for long enough. */
function show({ counts, proxies, memory }: Soak): void {
  say(`${new Date().toISOString()} load ${loads()}; ${JSON.stringify({ ...counts, reconnects: proxies.reconnects })}`);
  say("\n| | minutes | first, MB | last | peak | slope, MB an hour |\n|---|---|---|---|---|---|");
  for (const row of memory.rows(Math.min(runMs / 4, 600_000))) say(row);
}

/** A certificate for an account, as a workload renews its own. */
async function renew({ plane, counts }: Soak, issuer: Awaited<ReturnType<typeof openLocalIssuer>>): Promise<void> {
  try {
    const token = await issuer.mintToken({ namespace: "ns0", serviceAccount: "client" });
    await requestCertificate({
      ...{ address: `127.0.0.1:${plane.layout.ports.ca}`, serverName: "flotilla-ca.istio-system.svc" },
      ...{ rootsPem: readFileSync(paths(plane.layout).root, "utf8"), proof: { token }, names: [] },
      ...{ keyType: "ecdsa-p256", ttlMs: 3_600_000 },
    });
    counts.renewals++;
  } catch {
    counts.failedRenewals++;
  }
}

async function fault({ plane, stores, counts }: Soak): Promise<void> {
  const name = faults[counts.faults % faults.length] ?? "nats";
  counts.faults++;
  say(`${new Date().toISOString()} killing ${name}, load ${loads()}`);
  if (name === "nats" || name === "redis") {
    await stores.kill(name);
    await delay(2_000);
    await startAgain(stores, name);
  } else {
    const pid = plane.services.find((service) => service.name === name)?.pid;
    // Its launcher starts it again.
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  }
}

/** On a busy machine a server may take longer than its launcher waits. */
async function startAgain(stores: Stores, name: "nats" | "redis"): Promise<void> {
  for (let attempts = 5; ; attempts--)
    try {
      return await stores.start(name);
    } catch (error) {
      if (attempts === 0) throw error;
      say(`${new Date().toISOString()} ${name} is started once more: ${String(error)}`);
    }
}

function loads(): string {
  return loadavg()
    .map((load) => load.toFixed(1))
    .join(" ");
}
