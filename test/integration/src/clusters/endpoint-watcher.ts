/** A simulated proxy that asks for endpoints alone and remembers what it was sent. */
import { create, decode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

export interface WatcherOptions {
  readonly xdsAddress: string;
  /** Cluster names such as `outbound|80||web.shop.svc.cluster.local`. */
  readonly clusters: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
}

export class EndpointWatcher implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #client: XdsClient;
  readonly #running: Promise<void>;
  readonly #held = new Map<string, readonly string[]>();
  /** The fewest endpoints of each cluster since `forget`. */
  readonly fewest = new Map<string, number>();
  /** Assignments received. */
  received = 0;

  constructor({ xdsAddress, clusters, metadata = {} }: WatcherOptions) {
    const ip = "10.77.0.1";
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: xdsAddress }),
      node: create(NodeSchema, {
        id: `sidecar~${ip}~watcher.shop~shop.svc.cluster.local`,
        metadata: { NAMESPACE: "shop", INSTANCE_IPS: ip, CLUSTER_ID: "Kubernetes", ...metadata },
      }),
      backoffMs: () => 100,
      onUpdate: ({ changed, removed }) => {
        for (const { bytes } of changed) this.#note(decode(ClusterLoadAssignmentSchema, bytes));
        for (const name of removed) this.#count(name, []);
      },
    });
    this.#client.subscribe(typeUrl.endpoint, clusters);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** `address:port` of each endpoint that it was last sent, sorted; `address:port*weight` where it weighs more than others. */
  endpointsOf(cluster: string): readonly string[] {
    return this.#held.get(cluster) ?? [];
  }

  forget(): void {
    this.fewest.clear();
    this.received = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #note({ clusterName, endpoints }: ClusterLoadAssignment): void {
    const all = endpoints.flatMap(({ lbEndpoints }) =>
      lbEndpoints.flatMap(({ hostIdentifier, loadBalancingWeight }) => {
        if (hostIdentifier.case !== "endpoint") return [];
        const address = hostIdentifier.value.address?.address;
        if (address?.case !== "socketAddress") return [];
        const { address: host, portSpecifier } = address.value;
        const weight = loadBalancingWeight === undefined || loadBalancingWeight === 1 ? "" : `*${loadBalancingWeight}`;
        return [`${host}:${portSpecifier.value}${weight}`];
      }),
    );
    this.#count(clusterName, all);
  }

  #count(cluster: string, endpoints: readonly string[]): void {
    this.received++;
    this.#held.set(cluster, [...endpoints].sort());
    this.fewest.set(cluster, Math.min(this.fewest.get(cluster) ?? endpoints.length, endpoints.length));
  }
}
