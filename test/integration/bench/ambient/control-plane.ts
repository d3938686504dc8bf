/** The control plane that the ambient bench measures: one of its own, an istiod that it starts, or one that runs already. */
import { spawn } from "node:child_process";
import { openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allReady, startControlPlane } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";

export interface MeasuredPlane extends AsyncDisposable {
  readonly xdsAddress: string;
  /** URL of the metrics of the process that serves ztunnels. */
  readonly metricsUrl: string | undefined;
  /** Process ids by name; the one that serves ztunnels is `xds-server` or `istiod`. */
  readonly processes: Readonly<Record<string, number>>;
}

type Env = Readonly<Record<string, string | undefined>>;

/** All services of the project. */
export async function ownPlane(kubeconfig: string, env: Env): Promise<MeasuredPlane> {
  await using owned = new AsyncDisposableStack();
  const workDir = await mkdtemp(join(tmpdir(), "flotilla-ambient-"));
  owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
  const given = { CLUSTER_KUBECONFIG: kubeconfig, POD_NAMESPACE: "istio-system", PILOT_ENABLE_AMBIENT: "true" };
  const plane = owned.use(
    await startControlPlane({
      options: {
        ...{ embedded: false, config: undefined, mesh: undefined, networks: undefined, workDir },
        settings: { ...(env as Record<string, string>), ...given, LOG_LEVEL: env["LOG_LEVEL"] ?? "warn" },
        firstPort: await freePorts(20),
      },
      logs: "files",
      onProgress: () => undefined,
    }),
  );
  await allReady(plane, 180_000, () => undefined, new AbortController().signal);
  const processes = plane.services.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid] as const]));
  const { xds, xdsHealth } = plane.layout.ports;
  const all = owned.move();
  return {
    xdsAddress: `127.0.0.1:${xds}`,
    metricsUrl: `http://127.0.0.1:${xdsHealth}/metrics`,
    processes: Object.fromEntries(processes),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** A pilot-discovery that reads the API server, with ambient switched on and without certificates of its own. */
export async function startIstiod(binary: string, kubeconfig: string, env: Env): Promise<MeasuredPlane> {
  const [workDir, first] = await Promise.all([mkdtemp(join(tmpdir(), "istiod-ambient-")), freePorts(3)]);
  const [xds, http, monitoring] = [first, first + 1, first + 2].map((port) => `127.0.0.1:${port}`);
  writeFileSync(join(workDir, "mesh.yaml"), "trustDomain: cluster.local\n");
  const log = openSync(join(workDir, "istiod.log"), "a");
  const child = spawn(
    binary,
    [
      ...["discovery", "--registries=Kubernetes", "--kubeconfig", kubeconfig, "--clusterID", "Kubernetes"],
      ...["--meshConfig", join(workDir, "mesh.yaml"), "--networksConfig", "", "--ctrlz_port", "0"],
      ...["--httpAddr", `${http}`, "--grpcAddr", `${xds}`, "--monitoringAddr", `${monitoring}`],
      ...["--secureGRPCAddr", "", "--httpsAddr", ""],
    ],
    { env: { ...env, ...istiodSettings }, cwd: workDir, stdio: ["ignore", log, log] },
  );
  const ended = new Promise((resolve) => child.once("close", resolve));
  const dispose = async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(workDir, { recursive: true, force: true });
  };
  const isReady = async () => (await fetch(`http://${http}/ready`)).ok;
  try {
    await until(isReady, { withinMs: 180_000, what: "istiod to be ready", everyMs: 100 });
  } catch (cause) {
    const said = readFileSync(join(workDir, "istiod.log"), "utf8").slice(-2_000);
    await dispose();
    throw new Error(`istiod is not ready: ${said}`, { cause });
  }
  return {
    xdsAddress: `${xds}`,
    metricsUrl: `http://${monitoring}/metrics`,
    processes: { istiod: child.pid ?? 0 },
    [Symbol.asyncDispose]: dispose,
  };
}

const istiodSettings = {
  ...{ PILOT_ENABLE_AMBIENT: "true", POD_NAME: "istiod", POD_NAMESPACE: "istio-system", XDS_AUTH: "false" },
  ...{ ENABLE_CA_SERVER: "false", PILOT_CERT_PROVIDER: "none" },
};

/** `HOST:PORT,PID` of a control plane that runs already. */
export function runningPlane(text: string): MeasuredPlane {
  const [xdsAddress = "", pid = ""] = text.split(",");
  return {
    xdsAddress,
    metricsUrl: undefined,
    processes: { istiod: Number(pid) },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Seconds of CPU by process. */
export function cpuOf({ processes }: MeasuredPlane): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(processes).map(([name, pid]) => {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      return [name, (Number(fields[11]) + Number(fields[12])) / 100];
    }),
  );
}

/** Resident memory and heap of the process that serves ztunnels, in MB: `RSS/heap`. */
export async function memoryOf({ processes, metricsUrl }: MeasuredPlane): Promise<string> {
  const pid = processes["xds-server"] ?? processes["istiod"];
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const residentMb = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  if (metricsUrl === undefined) return `${residentMb}`;
  const metrics = await (await fetch(metricsUrl)).text();
  const heap = Number(/^go_memstats_heap_alloc_bytes (\S+)/m.exec(metrics)?.[1]);
  return `${residentMb}/${Math.round(heap / 1e6)}`;
}
