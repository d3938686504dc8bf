/** NATS, config-controller, xds-server and any number of service-controllers as processes, reading real API servers. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChildService, healthOf, startChild } from "@flotilla/cli/testing";
import { until } from "@flotilla/runtime";
import { freePorts, startNats } from "@flotilla/servers";

export interface Controller extends AsyncDisposable {
  readonly service: ChildService;
  page<T>(path: string): Promise<T>;
  /** Sum of a metric over its labels. */
  metric(name: string): Promise<number>;
  /** As a crash does. */
  kill(): Promise<void>;
}

export interface Fleet extends AsyncDisposable {
  readonly natsUrl: string;
  /** Of xds-server, in plain text. */
  readonly xdsAddress: string;
  /** Its files are read as configuration while running. */
  readonly configDirectory: string;
  /** The MeshConfig, as YAML; read while running. */
  readonly meshFile: string;
  startServiceController(name: string, env: Readonly<Record<string, string>>): Promise<Controller>;
}

type ServiceName = "config-controller" | "service-controller" | "xds-server";

/** `xdsSettings` are xds-server's. */
export async function startFleet(xdsSettings: Readonly<Record<string, string>> = {}): Promise<Fleet> {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-clusters-"));
  const owned = new AsyncDisposableStack();
  owned.defer(() => rmSync(directory, { recursive: true, force: true }));
  const configDirectory = join(directory, "config");
  mkdirSync(configDirectory);
  writeFileSync(join(directory, "key"), "a key for this test");
  const nats = owned.use(await startNats({ directory, env: process.env }));
  const shared = {
    PATH: process.env["PATH"] ?? "",
    BUS_URL: nats.url,
    HEALTH_HOST: "127.0.0.1",
    LOG_LEVEL: "info",
    SEAL_KEY_FILE: join(directory, "key"),
    WORK_DIR: directory,
  };
  const start = async (name: ServiceName, alias: string, env: Readonly<Record<string, string>>) => {
    const firstPort = await freePorts(4);
    const ports = {
      XDS_PORT: firstPort,
      XDS_TLS_PORT: firstPort + 1,
      HTTP_PORT: firstPort + 2,
      HEALTH_PORT: firstPort + 3,
    };
    const texts = Object.fromEntries(Object.entries(ports).map(([key, port]) => [key, String(port)]));
    const healthUrl = `http://127.0.0.1:${firstPort + 3}`;
    const logFile = join(directory, `${alias}.log`);
    const service = owned.use(startChild({ name, env: { ...shared, ...texts, ...env }, healthUrl, logFile }));
    const isReady = async () => (await healthOf({ healthUrl })).state === "ready";
    await Promise.race([until(isReady, { withinMs: 60_000, what: `${alias} to be ready` }), service.ended]);
    return { service, firstPort };
  };
  try {
    const meshFile = join(directory, "mesh.yaml");
    writeFileSync(meshFile, "{}");
    await start("config-controller", "config-controller", { CONFIG_DIR: configDirectory, MESH_CONFIG_FILE: meshFile });
    const store = { STORE_URL: "embedded:clusters", REQUIRED_PUBLISHERS: "config-controller", ...xdsSettings };
    const { firstPort } = await start("xds-server", "xds-server", store);
    return {
      natsUrl: nats.url,
      xdsAddress: `127.0.0.1:${firstPort}`,
      configDirectory,
      meshFile,
      startServiceController: async (alias, env) =>
        controllerOf((await start("service-controller", alias, { POD_NAME: alias, ...env })).service),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

function controllerOf(service: ChildService): Controller {
  const { healthUrl, pid } = service;
  const text = async (path: string) => (await fetch(`${healthUrl}${path}`)).text();
  return {
    service,
    page: async <T>(path: string) => JSON.parse(await text(path)) as T,
    metric: async (name) => {
      const lines = (await text("/metrics")).split("\n");
      const values = lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    kill: async () => {
      if (pid !== undefined) process.kill(pid, "SIGKILL");
      await service.ended.catch(() => undefined);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
