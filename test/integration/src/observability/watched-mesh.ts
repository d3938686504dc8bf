/** Five services as processes, config-controller twice, over real NATS and Redis, with an API server where there is one, two proxies, and a Prometheus that scrapes them. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { allReady, type ControlPlane, startControlPlane, startProxy } from "@flotilla/cli/testing";
import type { Envoy } from "@flotilla/dataplane";
import { type RunningApiserver, startKubeApiserver } from "@flotilla/kube-api/testing";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { parseAllDocuments } from "yaml";
import { impatientRules, type Prometheus, startPrometheus, type Target } from "./prometheus.ts";

const rules = fileURLToPath(new URL("../../../../k8s/observability/rules.yaml", import.meta.url));
const crds = fileURLToPath(new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const [address, port] = ["127.0.2.11", 28_480];

export interface WatchedMesh extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly prometheus: Prometheus;
  readonly envoy: Envoy;
  /** Undefined where there is none on this machine. */
  readonly apiserver: RunningApiserver | undefined;
  /** Directory that ca looks for plugged-in signing material in; not there at first. */
  readonly signingMaterial: string;
  /** Acknowledges what it gets, each time after this many milliseconds. */
  acknowledgeAfter(ms: number): void;
  /** Writes a file of the directory that the control plane follows. */
  write(name: string, ...objects: readonly object[]): void;
  remove(name: string): void;
}

const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "10.0.9.9", ports: [{ name: "http", port }], selector: { app: "web" } },
};
/** The proxy listens where no other test does. */
const sidecar = {
  apiVersion: "networking.istio.io/v1",
  kind: "Sidecar",
  metadata: { name: "web", namespace: "shop" },
  spec: {
    workloadSelector: { labels: { app: "web" } },
    egress: [
      { port: { number: port, protocol: "HTTP", name: "http" }, bind: address, captureMode: "NONE", hosts: ["./*"] },
    ],
  },
};
export const route = (timeout: string, namespace = "shop") => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace },
  spec: { hosts: ["web"], http: [{ timeout, route: [{ destination: { host: "web" } }] }] },
});

/** Resolves when all services are ready and both proxies have what they asked for. */
export async function startWatchedMesh(): Promise<WatchedMesh> {
  const owned = new AsyncDisposableStack();
  try {
    const workDir = mkdtempSync(join(tmpdir(), "fl-obs-"));
    owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
    const config = join(workDir, "config");
    mkdirSync(config);
    const file = (name: string) => join(config, `${name}.json`);
    const write = (name: string, ...items: readonly object[]) =>
      writeFileSync(file(name), JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    write("mesh", service, sidecar);
    write("route", route("1s"));
    const apiserver = await startKubeApiserver(process.env);
    if (apiserver !== undefined) owned.use(apiserver);
    if (apiserver !== undefined) await prepareCluster(apiserver);
    const plane = owned.use(await startPlane(workDir, config, apiserver?.kubeconfig));
    await allReady(plane, 120_000, () => undefined, new AbortController().signal);
    const node = { name: "web", namespace: "shop", serviceAccount: "web", labels: { app: "web" }, address };
    const envoy = await startProxy(await findServer("envoy", { env: process.env }), node, plane.layout, owned, true);
    await envoy.ready(60_000);
    const { holdMs, isSynced } = startSlowProxy(plane, owned);
    await until(isSynced, { withinMs: 60_000, what: "the proxy that acknowledges late to be synced" });
    const prometheus = owned.use(
      await startPrometheus({
        directory: join(workDir, "prometheus"),
        targets: [...targetsOf(plane), envoyTarget(envoy)],
        rules: impatientRules(rules),
      }),
    );
    return {
      ...{ plane, prometheus, envoy, apiserver, write, signingMaterial: materialIn(workDir) },
      remove: (name) => rmSync(file(name)),
      acknowledgeAfter: (ms) => {
        holdMs.value = ms;
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

function materialIn(workDir: string): string {
  return join(workDir, "cacerts");
}

async function prepareCluster({ api }: RunningApiserver): Promise<void> {
  for (const document of parseAllDocuments(readFileSync(crds, "utf8"))) {
    const definition: unknown = document.toJS();
    if (definition !== null) await api.create(definitions, definition);
  }
  for (const name of ["istio-system", "cluster"]) await api.create("/api/v1/namespaces", { metadata: { name } });
}

function startPlane(workDir: string, config: string, kubeconfig: string | undefined): Promise<ControlPlane> {
  // A root of 20 days is near its end from the beginning; tests of digests need not wait for a minute.
  const settings = { CITADEL_SELF_SIGNED_CA_CERT_TTL: "480h", DIGEST_INTERVAL: "2s" };
  const cluster = { CLUSTER_KUBECONFIG: kubeconfig ?? "", POD_NAMESPACE: "istio-system" };
  const impatient = { WATCHDOG_REPORT_AFTER: "400ms" };
  return freePorts(10).then((firstPort) =>
    startControlPlane({
      options: {
        ...{ embedded: false, config, mesh: undefined, networks: undefined, settings, workDir, firstPort },
        replicas: { "config-controller": 2 },
        binding: (name) => ({
          ...(kubeconfig !== undefined && name.endsWith("-controller") && cluster),
          ...(name === "config-controller" && impatient),
          ...(name === "ca" && { ROOT_CA_DIR: materialIn(workDir) }),
        }),
      },
      logs: "files",
      onProgress: () => undefined,
    }),
  );
}

/** The labels that pods of k8s/base have, and those that Prometheus' rules for pods add. */
function targetsOf({ services }: ControlPlane): readonly Target[] {
  return services.map(({ name, replica, healthUrl }) => ({
    address: healthUrl.slice("http://".length),
    labels: { pod: `flotilla-${replica}`, app: name === "xds-server" ? "istiod" : `flotilla-${name}` },
  }));
}

function envoyTarget({ adminUrl }: Envoy): Target {
  return { address: adminUrl.slice("http://".length), path: "/stats/prometheus", labels: { pod: "web-0", app: "web" } };
}

function startSlowProxy(plane: ControlPlane, owned: AsyncDisposableStack) {
  const holdMs = { value: 0 };
  const { client, running } = startClient(plane.layout.ports.xds, {
    ...{ name: "slow", ip: "127.0.2.12" },
    holdAnswerMs: () => holdMs.value,
  });
  owned.use(running);
  return { holdMs, isSynced: () => client.state.held(typeUrl.listener).size > 0 };
}

interface ClientOptions {
  readonly name: string;
  readonly ip: string;
  readonly holdAnswerMs?: () => number;
}

/** A sidecar of namespace shop that asks as an Envoy does, until it is disposed of. */
export function startClient(xdsPort: number, { name, ip, holdAnswerMs }: ClientOptions) {
  const metadata = { NAMESPACE: "shop", LABELS: { app: "web" }, INSTANCE_IPS: ip, CLUSTER_ID: "Kubernetes" };
  const client = new XdsClient({
    form: "delta",
    transport: grpcTransport({ address: `127.0.0.1:${xdsPort}` }),
    node: create(NodeSchema, { id: `sidecar~${ip}~${name}.shop~shop.svc.cluster.local`, metadata }),
    backoffMs: () => 200,
    ...(holdAnswerMs !== undefined && { holdAnswerMs }),
  });
  for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
  client.subscribe(typeUrl.route, [String(port)]);
  const ended = new AbortController();
  const served = client.run(ended.signal);
  const running: AsyncDisposable = {
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await served;
    },
  };
  return { client, running };
}
