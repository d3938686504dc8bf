/** A proxy that notes when each numbered change of the route of `changes.ts` arrives. */
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

export class ChangeWatcher implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #arrivals: { readonly number: number; readonly atMs: number }[] = [];
  connects = 0;

  constructor(address: string, i: number) {
    const ip = `10.77.${i >> 8}.${i & 255}`;
    const metadata = { NAMESPACE: "failover", INSTANCE_IPS: ip, LABELS: { app: "client" }, CLUSTER_ID: "Kubernetes" };
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address }),
      node: create(NodeSchema, { id: `sidecar~${ip}~client-${i}.failover~failover.svc.cluster.local`, metadata }),
      backoffMs: () => 50 + 200 * Math.random(),
      onConnection: (event) => {
        if (event === "opened") this.connects++;
      },
      onUpdate: ({ typeUrl: type }) => {
        if (type === typeUrl.route) this.#note();
      },
    });
    this.#client.subscribe(typeUrl.cluster);
    this.#client.subscribe(typeUrl.listener);
    this.#client.subscribe(typeUrl.route, ["80"]);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** 0 before the first. */
  get latest(): number {
    return this.#arrivals.at(-1)?.number ?? 0;
  }

  /** When this change, or a later one that took its place, arrived; infinite when none has. */
  arrivedAt(number: number): number {
    return this.#arrivals.find((arrival) => arrival.number >= number)?.atMs ?? Number.POSITIVE_INFINITY;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #note(): void {
    for (const { bytes } of this.#client.state.held(typeUrl.route).values()) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
      const number = Number(/change-(\d+)-/.exec(text)?.[1] ?? 0);
      if (number > this.latest) this.#arrivals.push({ number, atMs: performance.now() });
    }
  }
}
