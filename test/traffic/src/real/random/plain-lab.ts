/** Each batch of rounds in plain text: a client with the routes of all rounds, and a workload with the policies of each. */
import type { KubeObject } from "@flotilla/model";
import { until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { type Trace, traceCall } from "@flotilla/traffic";
import { Caller } from "../../caller.ts";
import { type Answer, type CallOptions, httpCall } from "../client.ts";
import { configurationOf, jsonOf, namespace, OneEnvoy, object } from "./one-envoy.ts";
import { type RecordingBackend, startRecordingBackend } from "./recording-backend.ts";
import { destinations, type Round } from "./rounds.ts";

export interface Batch {
  /** The evaluator's caller, with the configuration of the client. */
  readonly caller: Caller;
  readonly clientUrl: string;
  /** The evaluated way of the same call. */
  trace(round: number | "client", path: string, options: CallOptions): Trace;
  call(round: number | "client", path: string, options: CallOptions): Promise<Answer>;
}

export class PlainLab implements AsyncDisposable {
  readonly envoy: OneEnvoy;
  readonly #owned: AsyncDisposableStack;
  readonly backends: readonly RecordingBackend[];
  readonly #port: number;

  private constructor(
    owned: AsyncDisposableStack,
    envoy: OneEnvoy,
    backends: readonly RecordingBackend[],
    port: number,
  ) {
    this.#owned = owned;
    this.envoy = envoy;
    this.backends = backends;
    this.#port = port;
  }

  static async start(): Promise<PlainLab> {
    await using owned = new AsyncDisposableStack();
    const backends: RecordingBackend[] = [];
    for (const name of destinations) backends.push(owned.use(await startRecordingBackend(name)));
    const envoy = owned.use(await OneEnvoy.start());
    return new PlainLab(owned.move(), envoy, backends, await freePort());
  }

  /** Served when it resolves. */
  async serve(rounds: readonly Pick<Round, "routes" | "policies">[]): Promise<Batch> {
    const marker = `marker${this.envoy.nextBatch()}`;
    for (const backend of this.backends) backend.forget();
    const address = (last: number) => this.envoy.address(last);
    const inbound = rounds.map((_, index) => ({ app: `w${index}`, addresses: [address(index)] }));
    const [client = new Map(), ...workloads] = this.envoy.put(this.#objects(rounds, marker), {
      workloads: [{ app: "client", addresses: ["*"] }, ...inbound],
    });
    const clientAddress = address(200);
    // Listeners of all batches have one route configuration: a host of this batch alone shows that it is there.
    await until(async () => (await answered(clientAddress, this.#port, { headers: { host: marker } })) === 299, {
      withinMs: 30_000,
      what: `${marker} at Envoy (${this.envoy.logFile})`,
    });
    for (const index of rounds.keys()) await this.envoy.listening(address(index), this.#port);
    const traced = [client, ...workloads].map(configurationOf);
    return {
      trace: (round, path, { method = "GET", headers = {} }) => {
        const Address = round === "client" ? clientAddress : address(round);
        const { host: HostHeader = "", ...Headers } = headers;
        const call = {
          Address,
          Port: this.#port,
          Protocol: "http",
          HostHeader,
          Path: path,
          Method: method,
          Headers,
        } as const;
        const configuration = traced[round === "client" ? 0 : round + 1];
        if (configuration === undefined) throw new RangeError(`there is no round ${round}`);
        return traceCall(configuration, { call, sourceIp: "127.0.0.1" });
      },
      caller: new Caller(namespace, (type, names) => jsonOf(client.get(type) ?? [], type, names)),
      clientUrl: `http://${clientAddress}:${this.#port}`,
      call: (round, path, options) =>
        httpCall(this.#port, path, { ...options, host: round === "client" ? clientAddress : address(round) }),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #objects(rounds: readonly Pick<Round, "routes" | "policies">[], marker: string): readonly KubeObject[] {
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
    const [backend] = this.backends;
    return [
      object("PeerAuthentication", "default", { mtls: { mode: "DISABLE" } }),
      ...destinations.map((name, index) =>
        service(name, [{ address: "127.0.0.1", ports: { http: this.backends[index]?.port } }]),
      ),
      object("Sidecar", "client", {
        workloadSelector: { labels: { app: "client" } },
        egress: [{ port, bind: this.envoy.address(200), captureMode: "NONE", hosts: ["./*"] }],
      }),
      service(marker, [{ address: "127.0.0.1" }]),
      routes(marker, [{ directResponse: { status: 299 } }]),
      ...rounds.flatMap((round, index) => [
        service(`s${index}`, [{ address: "127.0.0.1" }]),
        routes(`s${index}`, round.routes),
        object("Sidecar", `w${index}`, {
          workloadSelector: { labels: { app: `w${index}` } },
          ingress: [
            {
              port,
              bind: this.envoy.address(index),
              captureMode: "NONE",
              defaultEndpoint: `127.0.0.1:${backend?.port}`,
            },
          ],
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

/** The status of an answer; 0 without a listener. */
async function answered(host: string, port: number, options: CallOptions): Promise<number> {
  try {
    return (await httpCall(port, "/", { ...options, host })).status;
  } catch {
    // The listener is not there yet: the caller asks until it is.
    return 0;
  }
}
