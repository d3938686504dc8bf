/** A simulated ztunnel: a delta stream of one type, with the names of what each message changed. */
import { create } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

export class ZtunnelClient implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #client: XdsClient;
  readonly #running: Promise<void>;
  readonly #typeUrl: string;
  /** Of each message since `forget`: the changed names, then the removed ones with `-` before them. */
  readonly updates: (readonly string[])[] = [];
  /** Streams so far. */
  opened = 0;

  /** Asks for everything where no names are given. */
  constructor(
    xdsAddress: string,
    typeUrl: string,
    names?: readonly string[],
    { keepBytes = false, nodeName = "n1" } = {},
  ) {
    this.#typeUrl = typeUrl;
    const transport = grpcTransport({ address: xdsAddress });
    this.#client = new XdsClient({
      form: "delta",
      transport,
      node: create(NodeSchema, {
        id: "ztunnel~10.77.0.2~ztunnel-1.istio-system~istio-system.svc.cluster.local",
        metadata: { NAMESPACE: "istio-system", CLUSTER_ID: "Kubernetes", NODE_NAME: nodeName },
      }),
      backoffMs: () => 50,
      keepBytes,
      onConnection: (event) => {
        if (event === "opened") this.opened++;
      },
      onUpdate: ({ changed, removed }) => {
        this.updates.push([...changed.map(({ name }) => name), ...removed.map((name) => `-${name}`)]);
      },
    });
    this.#client.subscribe(typeUrl, names);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** The names of what it has. */
  get held(): readonly string[] {
    return [...this.#client.state.held(this.#typeUrl).keys()];
  }

  /** The resource of a name as it was sent; for clients with `keepBytes`. */
  bytes(name: string): Uint8Array {
    const found = this.#client.state.held(this.#typeUrl).get(name);
    if (found === undefined) throw new Error(`nothing of the name ${name} was sent`);
    return found.bytes;
  }

  /** Ends the stream; the next one is opened at once and names what is held. */
  disconnect(): void {
    this.#client.disconnect();
  }

  forget(): void {
    this.updates.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
