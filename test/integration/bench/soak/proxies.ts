/** Simulated proxies, spread over the namespaces, that stay connected, and can be replaced one by one. */
import { bytesToJson, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { namespaceCount } from "./mesh-files.ts";

interface Route {
  readonly virtualHosts?: readonly {
    readonly name: string;
    readonly routes?: readonly { readonly route?: { readonly timeout?: string } }[];
  }[];
}

class Proxy implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(address: string, number: number) {
    const [namespace, ip] = [`ns${number % namespaceCount}`, `10.77.${number >> 8}.${number & 255}`];
    const metadata = { NAMESPACE: namespace, INSTANCE_IPS: ip, LABELS: { app: "client" }, CLUSTER_ID: "Kubernetes" };
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address }),
      node: create(NodeSchema, {
        id: `sidecar~${ip}~client-${number}.${namespace}~${namespace}.svc.cluster.local`,
        metadata,
      }),
      backoffMs: () => 200 + 800 * Math.random(),
    });
    for (const type of [typeUrl.cluster, typeUrl.listener]) this.#client.subscribe(type);
    this.#client.subscribe(typeUrl.route, ["80"]);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** As `MeshFiles.expected` has it. */
  get served(): string {
    const held = this.#client.state.held(typeUrl.route).get("80");
    if (held === undefined) return "";
    const { virtualHosts = [] } = bytesToJson(typeUrl.route, held.bytes) as Route;
    const found = virtualHosts.flatMap(({ name, routes }) => {
      const timeout = routes?.[0]?.route?.timeout;
      return timeout === undefined || !name.startsWith("web")
        ? []
        : [`${name.split(".")[0]}=${Number.parseInt(timeout, 10)}`];
    });
    return found.sort().join(" ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

export class Proxies implements AsyncDisposable {
  readonly #address: string;
  readonly #proxies: Proxy[];
  reconnects = 0;

  constructor(address: string, count: number) {
    this.#address = address;
    this.#proxies = Array.from({ length: count }, (_, number) => new Proxy(address, number));
  }

  /** One leaves, and one of its name comes. */
  async replace(random: () => number): Promise<void> {
    const number = Math.floor(random() * this.#proxies.length);
    const before = this.#proxies[number];
    this.#proxies[number] = new Proxy(this.#address, number);
    this.reconnects++;
    await before?.[Symbol.asyncDispose]();
  }

  /** Proxies that do not match their namespace's files. */
  wrong(expected: (namespace: number) => string): readonly number[] {
    return this.#proxies.flatMap((proxy, number) =>
      proxy.served === expected(number % namespaceCount) ? [] : [number],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  }
}
