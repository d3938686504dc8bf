/**
 * One real Envoy that is all workloads at once: each batch of rounds becomes a mesh, the core generates what the client and every
 * workload would get, and the listeners of all of them are served to the one Envoy, on addresses of 127/8 that no batch had before.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EchoServer, type Envoy, envoyBootstrap, startEchoServer, startEnvoy } from "@flotilla/dataplane";
import { type KubeObject, parseNode } from "@flotilla/model";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { loadMesh } from "@flotilla/registry";
import { until } from "@flotilla/runtime";
import { findServer, freePort } from "@flotilla/servers";
import { nameSet, type Resource } from "@flotilla/xds";
import { Core } from "@flotilla/xds-server/core";
import { startTestServer, type TestServer } from "@flotilla/xds-server/testing";
import { Caller } from "../../caller.ts";
import { textAt } from "../../simulate/json.ts";
import { type Answer, type CallOptions, httpCall } from "../client.ts";
import { destinations, type Round } from "./rounds.ts";

const namespace = "shop";
const types = [typeUrl.endpoint, typeUrl.cluster, typeUrl.route, typeUrl.listener] as const;

export interface Batch {
  /** The evaluator's caller, with the configuration of the client. */
  readonly caller: Caller;
  readonly clientUrl: string;
  call(round: number | "client", path: string, options: CallOptions): Promise<Answer>;
}

export class RandomLab implements AsyncDisposable {
  readonly #owned: AsyncDisposableStack;
  readonly #server: TestServer;
  readonly #envoy: Envoy;
  readonly #backends: readonly EchoServer[];
  readonly #port: number;
  #batches = 0;

  private constructor(parts: {
    readonly owned: AsyncDisposableStack;
    readonly server: TestServer;
    readonly envoy: Envoy;
    readonly backends: readonly EchoServer[];
    readonly port: number;
  }) {
    this.#owned = parts.owned;
    this.#server = parts.server;
    this.#envoy = parts.envoy;
    this.#backends = parts.backends;
    this.#port = parts.port;
  }

  static async start(): Promise<RandomLab> {
    await using owned = new AsyncDisposableStack();
    const directory = mkdtempSync(join(tmpdir(), "flotilla-random-"));
    owned.defer(() => rmSync(directory, { recursive: true, force: true }));
    const backends: EchoServer[] = [];
    for (const name of destinations) backends.push(owned.use(await startEchoServer(name)));
    const server = owned.use(await startTestServer());
    const node = { name: "all", namespace, serviceAccount: "all", labels: {}, address: "127.0.0.1" };
    const envoy = owned.use(
      await startEnvoy({
        binary: await findServer("envoy", { env: process.env }),
        directory,
        name: "all",
        bootstrap: envoyBootstrap({ node, discoveryAddress: server.address, delta: true, adminPort: 0 }),
      }),
    );
    await envoy.ready(30_000);
    return new RandomLab({ owned: owned.move(), server, envoy, backends, port: await freePort() });
  }

  /** Served when it resolves. */
  async serve(rounds: readonly Round[]): Promise<Batch> {
    this.#batches++;
    const address = (last: number) => `127.${60 + (this.#batches >> 8)}.${this.#batches & 255}.${last + 1}`;
    const core = new Core();
    const [refusal] = core.apply(loadMesh(this.#objects(rounds, address)));
    if (refusal !== undefined) throw refusal.error;
    const client = resourcesOf(core, "client", ["*"]);
    const all = new Map<string, Map<string, Resource>>(types.map((type) => [type, new Map()]));
    const inbound = rounds.flatMap((_, index) => [resourcesOf(core, `w${index}`, [address(index)])]);
    for (const of of [client, ...inbound])
      for (const type of types) for (const one of of.get(type) ?? []) all.get(type)?.set(one.name, one);
    for (const type of types) this.#server.source.put(type, [...(all.get(type)?.values() ?? [])]);
    const clientAddress = address(200);
    // Listeners of all batches have one route configuration: a host of this batch alone shows that it is there.
    const marker = { headers: { host: this.#marker } };
    await until(async () => (await answered(clientAddress, this.#port, marker)) === 299, {
      withinMs: 30_000,
      what: `batch ${this.#batches} at Envoy (${this.#envoy.logFile})`,
    });
    for (const index of rounds.keys())
      await until(async () => (await answered(address(index), this.#port, {})) !== 0, {
        withinMs: 30_000,
        what: `the listener of workload ${index} (${this.#envoy.logFile})`,
      });
    return {
      caller: new Caller(namespace, (type, names) => jsonOf(client.get(type) ?? [], type, names)),
      clientUrl: `http://${clientAddress}:${this.#port}`,
      call: (round, path, options) =>
        httpCall(this.#port, path, { ...options, host: round === "client" ? clientAddress : address(round) }),
    };
  }

  /** Counters of refused updates. */
  async rejections(): Promise<readonly string[]> {
    const stats = await this.#envoy.stats(/update_rejected|lds_update_failure/);
    return [...stats].filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  get #marker(): string {
    return `marker${this.#batches}`;
  }

  #objects(rounds: readonly Round[], address: (last: number) => string): readonly KubeObject[] {
    const port = { number: this.#port, name: "http", protocol: "HTTP" };
    const service = (name: string, endpoints: readonly object[]) =>
      object("ServiceEntry", name, {
        hosts: [`${name}.${namespace}.svc.cluster.local`],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
        ports: [port],
        endpoints,
      });
    const routes = (name: string, http: readonly object[]) => object("VirtualService", name, { hosts: [name], http });
    const [backend] = this.#backends;
    return [
      object("PeerAuthentication", "default", { mtls: { mode: "DISABLE" } }),
      ...destinations.map((name, index) =>
        service(name, [{ address: "127.0.0.1", ports: { http: this.#backends[index]?.port } }]),
      ),
      object("Sidecar", "client", {
        workloadSelector: { labels: { app: "client" } },
        egress: [{ port, bind: address(200), captureMode: "NONE", hosts: ["./*"] }],
      }),
      service(this.#marker, [{ address: "127.0.0.1" }]),
      routes(this.#marker, [{ directResponse: { status: 299 } }]),
      ...rounds.flatMap((round, index) => [
        service(`s${index}`, [{ address: "127.0.0.1" }]),
        routes(`s${index}`, round.routes),
        object("Sidecar", `w${index}`, {
          workloadSelector: { labels: { app: `w${index}` } },
          ingress: [{ port, bind: address(index), captureMode: "NONE", defaultEndpoint: `127.0.0.1:${backend?.port}` }],
          egress: [{ hosts: ["~/*"] }],
        }),
        ...round.policies.map((policy, number) =>
          object("AuthorizationPolicy", `w${index}-${number}`, {
            selector: { matchLabels: { app: `w${index}` } },
            ...policy,
          }),
        ),
      ]),
    ];
  }
}

function object(kind: string, name: string, spec: object): KubeObject {
  const isSecurity = kind === "PeerAuthentication" || kind === "AuthorizationPolicy";
  const apiVersion = `${isSecurity ? "security" : "networking"}.istio.io/v1`;
  return { apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject;
}

/** What a workload's proxy gets; of listeners those at the addresses, `*` for all. */
function resourcesOf(core: Core, app: string, addresses: readonly string[]): ReadonlyMap<string, readonly Resource[]> {
  const subject = core.subjectOf(
    parseNode({
      id: `sidecar~192.0.2.1~${app}.${namespace}~${namespace}.svc.cluster.local`,
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

function jsonOf(resources: readonly Resource[], type: string, names?: readonly string[]): readonly JsonObject[] {
  return resources
    .filter(({ name }) => names === undefined || names.includes(name))
    .map(({ bytes }) => bytesToJson(type, bytes) as JsonObject);
}

/** The status of an answer; 0 while nobody listens there. */
async function answered(host: string, port: number, options: CallOptions): Promise<number> {
  try {
    return (await httpCall(port, "/", { ...options, host })).status;
  } catch {
    // The listener is not there yet: the caller asks until it is.
    return 0;
  }
}
