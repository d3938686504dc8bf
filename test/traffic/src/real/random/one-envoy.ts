/**
 * One real Envoy that is all workloads at once: the core generates what every workload of a batch would get, and the listeners of
 * all of them are served to the one Envoy, on addresses of 127/8 that no batch had before.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Envoy, envoyBootstrap, serveSecrets, startEnvoy, type WorkloadCertificate } from "@flotilla/dataplane";
import { type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { loadMesh } from "@flotilla/registry";
import { until } from "@flotilla/runtime";
import { findServer } from "@flotilla/servers";
import { type ProxyConfiguration, textAt } from "@flotilla/traffic";
import { nameSet, type Resource } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";
import { startTestServer, type TestServer } from "@flotilla/xds-server/testing";
import { withPinnedChoice } from "./pinned-choice.ts";

/** Everything lives in this namespace. */
export const namespace = "shop";

const types = [typeUrl.endpoint, typeUrl.cluster, typeUrl.route, typeUrl.listener] as const;

/** Number of log lines shown of an Envoy that does not apply its configuration. */
const shownLines = 5;

/** By type. */
export type Resources = ReadonlyMap<string, readonly Resource[]>;

export interface BatchOptions {
  readonly mesh?: JsonObject;
  readonly workloads: readonly Workload[];
  /** Served beside what is generated. */
  readonly secrets?: readonly Resource[];
}

export interface Workload {
  /** Value of its label `app`. */
  readonly app: string;
  /** Addresses whose listeners are served; `*` for all. */
  readonly addresses: readonly string[];
  /** A sidecar when absent. */
  readonly type?: "sidecar" | "router";
}

export class OneEnvoy implements AsyncDisposable {
  readonly logFile: string;
  readonly #owned: AsyncDisposableStack;
  readonly #server: TestServer;
  readonly #envoy: Envoy;
  /** Names of all clusters that were served. */
  readonly #clusters = new Set<string>();
  /** Clusters of its bootstrap. */
  readonly #staticClusters: number;
  #batches = 0;

  private constructor(owned: AsyncDisposableStack, server: TestServer, envoy: Envoy, staticClusters: number) {
    this.#staticClusters = staticClusters;
    this.#owned = owned;
    this.#server = server;
    this.#envoy = envoy;
    this.logFile = envoy.logFile;
  }

  /** @param certificate of all workloads; without one there is no mutual TLS */
  static async start(certificate?: WorkloadCertificate): Promise<OneEnvoy> {
    await using owned = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "flotilla-random-"));
    owned.defer(() => rmSync(directory, { recursive: true, force: true }));
    const server = owned.use(await startTestServer());
    const node = { name: "all", namespace, serviceAccount: "all", labels: {}, address: "127.0.0.1" };
    const secretSocket = join(directory, "sds.sock");
    if (certificate !== undefined) owned.use(await serveSecrets(secretSocket, certificate));
    const bootstrap = envoyBootstrap({
      ...{ node, discoveryAddress: server.address, delta: true, adminPort: 0 },
      ...(certificate !== undefined && { secretSocket }),
    });
    const binary = await findServer("envoy", { env: process.env });
    const envoy = owned.use(await startEnvoy({ binary, directory, name: "all", bootstrap }));
    await envoy.ready(30_000);
    return new OneEnvoy(owned.move(), server, envoy, (await clusterCounts(envoy)).added);
  }

  /** Begins a batch. */
  nextBatch(): number {
    return ++this.#batches;
  }

  /** Of this batch alone. */
  address(last: number): string {
    return `127.${60 + (this.#batches >> 8)}.${this.#batches & 255}.${last + 1}`;
  }

  /** Replaces what Envoy is served; what each workload gets, in their order. @throws for an object that is refused */
  put(objects: readonly KubeObject[], { mesh = {}, workloads, secrets = [] }: BatchOptions): readonly Resources[] {
    const core = new Core();
    const [refusal] = core.apply(loadMesh(objects, mesh as never));
    if (refusal !== undefined) throw refusal.error;
    const each = workloads.map((workload) => resourcesOf(core, workload));
    if (secrets.length > 0) this.#server.source.put(typeUrl.secret, secrets);
    for (const type of types) {
      const byName = new Map(each.flatMap((of) => (of.get(type) ?? []).map((one) => [one.name, one] as const)));
      const all = [...byName.values()];
      if (type === typeUrl.cluster) for (const { name } of all) this.#clusters.add(name);
      this.#server.source.put(type, type === typeUrl.route ? all.map(withPinnedChoice) : all);
    }
    return each;
  }

  /** Resolves when Envoy takes connections there. */
  async listening(address: string, port: number): Promise<void> {
    const what = `the listener ${address}:${port}`;
    await until(() => accepts(address, port), { withinMs: 30_000, what }).catch((cause: unknown) => {
      const log = readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-shownLines).join("\n");
      throw new Error(`${what} does not open: ${log}`, { cause });
    });
  }

  /** Resolves when Envoy has the endpoints of all clusters: until then it answers 503 without a body for those that wait. */
  async warm(): Promise<void> {
    const isWarm = async () => {
      const { added, warming } = await clusterCounts(this.#envoy);
      return warming === 0 && added >= this.#staticClusters + this.#clusters.size;
    };
    await until(isWarm, { withinMs: 30_000, what: `warm clusters (${this.logFile})` });
  }

  /** Counters of refused updates. */
  async rejections(): Promise<readonly string[]> {
    const stats = await this.#envoy.stats(/update_rejected|lds_update_failure/);
    return [...stats].filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

export function object(kind: string, name: string, spec: object): KubeObject {
  const isSecurity = ["PeerAuthentication", "RequestAuthentication", "AuthorizationPolicy"].includes(kind);
  const apiVersion = `${isSecurity ? "security" : "networking"}.istio.io/v1`;
  return { apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject;
}

function resourcesOf(core: Core, { app, addresses, type: nodeType = "sidecar" }: Workload): Resources {
  const subject = core.subjectOf(
    parseNode({
      id: `${nodeType}~192.0.2.1~${app}.${namespace}~${namespace}.svc.cluster.local`,
      locality: { region: "", zone: "", subzone: "" },
      // None of those that only the Envoy of Istio has.
      extensions: new Set<string>(),
      metadata: {
        NAMESPACE: namespace,
        CLUSTER_ID: "Kubernetes",
        LABELS: { app },
        INSTANCE_IPS: "192.0.2.1",
        INTERCEPTION_MODE: "NONE",
      },
    }),
  );
  const read = (type: (typeof types)[number], names?: readonly string[]) => [
    ...(core.resources(subject, type, names && nameSet(names))?.byName.values() ?? []),
  ];
  const clusters = read(typeUrl.cluster);
  const listeners = read(typeUrl.listener).filter((one) => {
    const at = textAt(bytesToJson(typeUrl.listener, one.bytes), "address", "socketAddress", "address");
    return addresses.includes("*") || addresses.includes(at);
  });
  const text = JSON.stringify(jsonOf(listeners, typeUrl.listener));
  const routeNames = [...text.matchAll(/"routeConfigName":"([^"]+)"/g)].map(([, name]) => name ?? "");
  return new Map<string, readonly Resource[]>([
    [typeUrl.cluster, clusters],
    [
      typeUrl.endpoint,
      read(
        typeUrl.endpoint,
        clusters.map(({ name }) => name),
      ),
    ],
    [typeUrl.listener, listeners],
    [typeUrl.route, routeNames.length === 0 ? [] : read(typeUrl.route, routeNames)],
  ]);
}

export function jsonOf(resources: readonly Resource[], type: string, names?: readonly string[]): readonly JsonObject[] {
  return resources
    .filter(({ name }) => names === undefined || names.includes(name))
    .map(({ bytes }) => bytesToJson(type, bytes) as JsonObject);
}

/** The resources of a workload as the evaluator reads them. */
export function configurationOf(resources: Resources): ProxyConfiguration {
  const all = (type: (typeof types)[number]) => jsonOf(resources.get(type) ?? [], type);
  const byName = (type: (typeof types)[number], key: string) => {
    const found = new Map(all(type).map((one) => [textAt(one, key), one]));
    return (name: string) => found.get(name);
  };
  return {
    listeners: all(typeUrl.listener),
    routes: byName(typeUrl.route, "name"),
    clusters: byName(typeUrl.cluster, "name"),
    endpoints: byName(typeUrl.endpoint, "clusterName"),
  };
}

async function clusterCounts(envoy: Envoy): Promise<{ readonly added: number; readonly warming: number }> {
  const stats = await envoy.stats(/^cluster_manager\.(cluster_added|warming_clusters)$/);
  const count = (name: string) => stats.get(`cluster_manager.${name}`) ?? 0;
  return { added: count("cluster_added"), warming: count("warming_clusters") };
}

function accepts(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port });
  socket.once("connect", () => resolve(true));
  // The listener is not there yet: the caller asks until it is.
  socket.once("error", () => resolve(false));
  return promise.finally(() => socket.destroy());
}
