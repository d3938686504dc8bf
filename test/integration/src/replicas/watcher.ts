/** Simulated proxies that take everything, count what they are sent and reconnect as Envoy does. */
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

const types = [typeUrl.cluster, typeUrl.endpoint, typeUrl.listener, typeUrl.route] as const;

export class Watcher implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Resources received since the start. */
  received = 0;
  connects = 0;
  /** When its last stream ended; undefined while its first one is open. */
  endedAtMs: number | undefined;

  constructor(address: string, i: number) {
    const ip = `10.77.${i >> 8}.${i & 255}`;
    const metadata = { NAMESPACE: "shop", INSTANCE_IPS: ip, LABELS: { app: "watcher" }, CLUSTER_ID: "Kubernetes" };
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address }),
      node: create(NodeSchema, { id: `sidecar~${ip}~watcher-${i}.shop~shop.svc.cluster.local`, metadata }),
      backoffMs: () => 50 + 200 * Math.random(),
      onConnection: (event) => {
        if (event === "opened") this.connects++;
        else this.endedAtMs = performance.now();
      },
      onUpdate: ({ typeUrl: type, changed }) => {
        this.received += changed.length;
        const names = changed.map(({ name }) => name);
        if (type === typeUrl.cluster)
          this.#follow(
            typeUrl.endpoint,
            names.filter((name) => name.startsWith("outbound|")),
          );
        if (type === typeUrl.listener) this.#follow(typeUrl.route, ["80", "8080"]);
      },
    });
    this.#client.subscribe(typeUrl.cluster);
    this.#client.subscribe(typeUrl.listener);
    this.#running = this.#client.run(this.#stop.signal);
  }

  get isSynced(): boolean {
    return types.every((type) => this.#client.state.held(type).size > 0);
  }

  /** The resources it holds: version by type and name. */
  versions(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      types.flatMap((type) =>
        [...this.#client.state.held(type)].map(([name, { version }]) => [`${type} ${name}`, version] as const).sort(),
      ),
    );
  }

  /** True where a route leads to the cluster of this subset. */
  routesTo(subset: string): boolean {
    return [...this.#client.state.held(typeUrl.route).values()].some(({ bytes }) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(`|${subset}|reviews.shop`),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #follow(type: string, names: readonly string[]): void {
    const known = this.#client.state.subscribed(type);
    const fresh = names.filter((name) => !known.has(name));
    if (fresh.length > 0) this.#client.subscribe(type, fresh);
  }
}
