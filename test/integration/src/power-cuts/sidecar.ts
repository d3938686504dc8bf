/** A proxy that is subscribed to everything and can be asked what it was sent. */
import { bytesToJson, create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

interface RouteConfiguration {
  readonly virtualHosts?: readonly {
    readonly name: string;
    readonly routes?: readonly { readonly route?: { readonly timeout?: string } }[];
  }[];
}

const webEndpoints = "outbound|80||web0.shop.svc.cluster.local";

export class Sidecar implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(address: string, name: string) {
    const metadata = {
      NAMESPACE: "shop",
      LABELS: { app: "client" },
      INSTANCE_IPS: "192.0.2.250",
      CLUSTER_ID: "Kubernetes",
    };
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address }),
      node: create(NodeSchema, { id: `sidecar~192.0.2.250~${name}.shop~shop.svc.cluster.local`, metadata }),
      backoffMs: () => 100,
    });
    for (const type of [typeUrl.cluster, typeUrl.listener]) this.#client.subscribe(type);
    this.#client.subscribe(typeUrl.route, ["80"]);
    this.#client.subscribe(typeUrl.endpoint, [webEndpoints]);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** Time-outs of routes by host and the endpoint of web0, as one text to compare. */
  get served(): string {
    const route = this.#client.state.held(typeUrl.route).get("80");
    const endpoints = this.#client.state.held(typeUrl.endpoint).get(webEndpoints);
    const decoded = route && (bytesToJson(typeUrl.route, route.bytes) as RouteConfiguration);
    const timeouts = (decoded?.virtualHosts ?? []).flatMap(({ name, routes }): (readonly [string, number])[] => {
      const seconds = Number.parseInt(routes?.[0]?.route?.timeout ?? "0", 10);
      return seconds === 0 ? [] : [[name.split(".")[0] ?? "", seconds]];
    });
    const text = endpoints === undefined ? "" : JSON.stringify(bytesToJson(typeUrl.endpoint, endpoints.bytes));
    return servedText(new Map(timeouts), Number(/"192\.0\.2\.(\d+)"/.exec(text)?.[1] ?? 0));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** The resources that a sidecar is to have been sent. */
export function servedText(timeouts: ReadonlyMap<string, number>, endpoint: number): string {
  return [...[...timeouts].sort().map(([host, seconds]) => `${host}=${seconds}`), `endpoint=${endpoint}`].join(" ");
}
