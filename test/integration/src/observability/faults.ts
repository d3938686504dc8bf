/** Faults of a running mesh, and the alerts that each must fire. They are caused in this order, and repaired unless nothing can. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { requestCertificate } from "@flotilla/auth/serving";
import { connectBus } from "@flotilla/bus";
import { boundMessages } from "@flotilla/bus/testing";
import { type ControlPlane, healthOf, paths, startChild } from "@flotilla/cli/testing";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { admit, badRoute, podWithoutTemplate } from "./admission-calls.ts";
import { route, startClient, type WatchedMesh } from "./watched-mesh.ts";

export interface Fault {
  readonly name: string;
  readonly alerts: readonly string[];
  readonly needsCluster?: boolean;
  /** Resolves when it is there; disposing repairs it. */
  readonly cause: (mesh: WatchedMesh) => Promise<AsyncDisposable>;
}

const repair = (undo: () => void | Promise<void> = () => undefined): AsyncDisposable => ({
  [Symbol.asyncDispose]: async () => undo(),
});
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 100 });

export const faults: readonly Fault[] = [
  {
    name: "an object that is refused",
    alerts: ["FlotillaConfigurationRefused"],
    cause: async (mesh) => {
      mesh.write("refused", badRoute);
      return repair(() => mesh.remove("refused"));
    },
  },
  {
    name: "a filter that Envoy refuses",
    alerts: ["FlotillaProxiesRefuseConfiguration"],
    cause: async (mesh) => {
      mesh.write("filter", brokenFilter);
      return repair(() => mesh.remove("filter"));
    },
  },
  {
    name: "a proxy that acknowledges after 12 s",
    alerts: ["FlotillaChangesAreSlow"],
    cause: async (mesh) => {
      mesh.acknowledgeAfter(12_000);
      const stop = new AbortController();
      const changing = changeRoutes(mesh, stop.signal);
      return repair(async () => {
        stop.abort();
        await changing;
        mesh.acknowledgeAfter(0);
      });
    },
  },
  {
    name: "requests for certificates that live for too long",
    alerts: ["FlotillaCertificatesNotIssued"],
    cause: async ({ plane }) => {
      for (let i = 0; i < 3; i++) await askForTooLong(plane);
      return repair();
    },
  },
  {
    name: "pods that name a template that there is not",
    alerts: ["FlotillaPodsNotInjected"],
    cause: async ({ plane }) => {
      for (let i = 0; i < 3; i++) await admit(plane, "/inject", podWithoutTemplate);
      return repair();
    },
  },
  {
    name: "a stranger with the rights of config-controller on NATS",
    alerts: ["FlotillaValuesSetAside", "FlotillaStreamRepaired"],
    cause: async ({ plane }) => {
      await writeAsStranger(plane);
      return repair();
    },
  },
  {
    name: "objects of 30,000 routes, each read in one step",
    alerts: ["FlotillaMainThreadStalls"],
    cause: async (mesh) => {
      for (let i = 0; i < 5; i++) await readLargeObject(mesh, i);
      return repair(() => mesh.remove("large"));
    },
  },
  {
    name: "plugged-in signing material that cannot be read",
    alerts: ["FlotillaConditionHolds"],
    cause: async ({ signingMaterial }) => {
      mkdirSync(signingMaterial);
      for (const file of ["ca-cert.pem", "ca-key.pem", "cert-chain.pem", "root-cert.pem"])
        writeFileSync(join(signingMaterial, file), "no PEM");
      return repair(() => rmSync(signingMaterial, { recursive: true }));
    },
  },
  {
    name: "an xds-server with a module preloaded that breaks the durations of clusters",
    alerts: ["FlotillaResourcesCannotBeMade"],
    cause: startBrokenServer,
  },
  {
    name: "a bucket of reports that takes no message, as somebody bounded their size",
    alerts: ["FlotillaBackgroundWorkFails"],
    cause: async ({ plane }) => {
      await boundReports(plane, 1);
      return repair(() => boundReports(plane, -1));
    },
  },
  {
    name: "an API server that has ended",
    alerts: ["FlotillaClusterAway"],
    needsCluster: true,
    cause: async ({ apiserver }) => {
      await apiserver?.stop();
      return repair(() => apiserver?.start());
    },
  },
  {
    name: "a publishing config-controller that hangs, until its lease ends",
    alerts: ["FlotillaNobodyPublishes"],
    cause: async ({ plane, prometheus }) => {
      // After the fault before this one, a replica may still have to take over, or its metrics to be scraped.
      const publishing = async () => (await prometheus.query("flotilla_config_publishes == 1"))[0];
      const publisher = await until(publishing, { withinMs: 60_000, what: "a publishing replica", everyMs: 250 });
      return pause(plane.services.find(({ replica }) => `flotilla-${replica}` === publisher.metric["pod"])?.pid);
    },
  },
  {
    name: "a ca that crashes three times",
    alerts: ["FlotillaServiceRestarts"],
    cause: async ({ plane, prometheus }) => {
      for (let i = 0; i < 3; i++) await crash(plane, "ca", prometheus);
      return repair();
    },
  },
  {
    name: "a NATS that hangs",
    alerts: ["FlotillaServerAway"],
    cause: async ({ plane }) => pause(plane.servers.nats?.pid),
  },
  {
    name: "a webhook that hangs",
    alerts: ["FlotillaServiceMissing"],
    cause: async ({ plane }) => pause(plane.services.find(({ name }) => name === "webhook")?.pid),
  },
];

/** As agents of monitoring are preloaded: it patches what everybody relies on. Clusters have a duration of 15 s, and little else has. */
const brokenPreload = `const whole = BigInt;
globalThis.BigInt = Object.assign((value) => {
  if (value === 15) throw new RangeError("broken by a preloaded module");
  return whole(value);
}, { asIntN: whole.asIntN, asUintN: whole.asUintN });
`;

/** One more xds-server, and a proxy that is connected to it: clusters of a defect that no input has. */
async function startBrokenServer({ plane, prometheus }: WatchedMesh): Promise<AsyncDisposable> {
  await using owned = new AsyncDisposableStack();
  const first = await freePorts(4);
  const [xds, xdsTls, http, health] = [first, first + 1, first + 2, first + 3];
  const replica = "xds-server-broken";
  const preload = join(paths(plane.layout).logs, "preload.mjs");
  writeFileSync(preload, brokenPreload);
  const healthUrl = `http://127.0.0.1:${health}`;
  const server = startChild({
    ...{ name: "xds-server", healthUrl, logFile: join(paths(plane.layout).logs, `${replica}.log`) },
    env: {
      ...plane.environment("xds-server"),
      ...{ XDS_PORT: `${xds}`, XDS_TLS_PORT: `${xdsTls}`, HTTP_PORT: `${http}`, HEALTH_PORT: `${health}` },
      ...{ POD_NAME: replica, INTROSPECTION_PORT: "0" },
      NODE_OPTIONS: `--import=${preload}`,
    },
  });
  owned.defer(() => server.stop());
  prometheus.watch({ address: `127.0.0.1:${health}`, labels: { pod: `flotilla-${replica}`, app: "istiod" } });
  owned.use(startClient(xds, { name: "broken", ip: "127.0.2.13" }).running);
  return owned.move();
}

/** Lua that cannot be compiled. */
const brokenFilter = {
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "broken", namespace: "shop" },
  spec: {
    configPatches: [
      {
        applyTo: "HTTP_FILTER",
        match: { listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } } },
        patch: {
          operation: "INSERT_BEFORE",
          value: {
            name: "broken",
            typed_config: {
              "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
              inline_code: "this is no Lua",
            },
          },
        },
      },
    ],
  },
};

/** Again and again: the alert fires at one late answer in a hundred, and those before this fault count too. */
async function changeRoutes(mesh: WatchedMesh, stop: AbortSignal): Promise<void> {
  for (let seconds = 11; !stop.aborted; seconds++) {
    mesh.write("route", route(`${seconds}s`));
    await delay(13_000, stop);
  }
}

async function askForTooLong({ layout }: ControlPlane): Promise<void> {
  const issuer = await openLocalIssuer(layout.workDir);
  const asked = requestCertificate({
    address: `127.0.0.1:${layout.ports.ca}`,
    serverName: "flotilla-ca.istio-system.svc",
    rootsPem: readFileSync(paths(layout).root, "utf8"),
    proof: { token: await issuer.mintToken({ namespace: "shop", serviceAccount: "web" }) },
    names: [],
    keyType: "ecdsa-p256",
    ttlMs: 400 * 86_400_000,
  });
  await asked.then(
    () => {
      throw new Error("ca issued a certificate of 400 days");
    },
    () => undefined,
  );
}

/** Without the key that values are authenticated with. */
async function writeAsStranger(plane: ControlPlane): Promise<void> {
  const clientName = "config-controller";
  const url = plane.environment(clientName)["BUS_URL"] ?? "";
  await using bus = await connectBus({ url, clientName, log: noopLogger }, AbortSignal.timeout(30_000));
  const objects = await bus.keyValue("config");
  await objects.put("object/Sidecar/shop/stranger", Buffer.from("{"));
  await bus.publish([{ subject: "flotilla.v1.config.VirtualService.shop.web", payload: Buffer.from("{") }]);
}

/** As an operator may, or one with the rights of config-controller: -1 for no bound. */
function boundReports(plane: ControlPlane, maxBytes: number): Promise<void> {
  const clientName = "config-controller";
  const url = plane.environment(clientName)["BUS_URL"] ?? "";
  return boundMessages({ url, clientName, bucket: "distribution", maxBytes });
}

async function readLargeObject(mesh: WatchedMesh, i: number): Promise<void> {
  const { http } = route("1s").spec;
  const match = Array.from({ length: 30_000 }, (_, n) => ({ ...http[0], match: [{ uri: { exact: `/${i}/${n}` } }] }));
  const large = { ...route("1s", `large-${i}`), spec: { hosts: [`large-${i}.example`], http: match } };
  mesh.write("large", large);
  const isRead = async () =>
    (await mesh.prometheus.query("max(flotilla_main_thread_stalls_total)")).some(({ value }) => Number(value[1]) > i);
  await until(isRead, soon(`stall ${i + 1}`));
}

async function crash(plane: ControlPlane, name: string, prometheus: WatchedMesh["prometheus"]): Promise<void> {
  const service = plane.services.find((one) => one.name === name);
  const pid = service?.pid;
  if (service === undefined || pid === undefined) throw new Error(`${name} does not run`);
  const started = async () =>
    (await prometheus.query(`process_start_time_seconds{pod="flotilla-${name}"}`))[0]?.value[1];
  const before = await until(started, soon(`${name} to be scraped`));
  process.kill(pid, "SIGKILL");
  const isBack = async () =>
    service.pid !== pid && (await healthOf(service)).state === "ready" && (await started()) !== before;
  await until(isBack, soon(`${name} to be ready again`));
}

async function pause(pid: number | undefined): Promise<AsyncDisposable> {
  if (pid === undefined) throw new Error("it does not run");
  process.kill(pid, "SIGSTOP");
  return repair(() => void process.kill(pid, "SIGCONT"));
}
