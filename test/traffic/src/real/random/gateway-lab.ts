/** Runs a batch of rounds as one ingress gateway: the Gateways of a round have their own addresses, and its VirtualServices are bound to them. */
import { request } from "node:https";
import type { KubeObject } from "@flotilla/model";
import { checksum } from "@flotilla/model";
import { create, encode, typeUrl } from "@flotilla/proto";
import { SecretSchema } from "@flotilla/proto/envoy/extensions/transport_sockets/tls/v3/secret_pb";
import { freePort } from "@flotilla/servers";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";
import { type Call, type Trace, traceCall } from "@flotilla/traffic";
import type { Resource } from "@flotilla/xds";
import { type Answer, httpCall, parseReply } from "../client.ts";
import type { GatewayRequest, GatewayRound, PortName } from "./gateway-rounds.ts";
import { configurationOf, namespace, OneEnvoy, object } from "./one-envoy.ts";
import { type RecordingBackend, startRecordingBackend } from "./recording-backend.ts";
import { destinations } from "./rounds.ts";

export interface GatewayBatch {
  /** The evaluator's trace of the same call. */
  trace(round: number, asked: GatewayRequest): Trace;
  /** Undefined if no listener accepts the connection. */
  call(round: number, asked: GatewayRequest, headers?: Readonly<Record<string, string>>): Promise<Answer | undefined>;
}

const credential = "edge";

export class GatewayLab implements AsyncDisposable {
  readonly envoy: OneEnvoy;
  readonly backends: readonly RecordingBackend[];
  readonly #owned: AsyncDisposableStack;
  readonly #ports: Readonly<Record<PortName, number>>;
  readonly #secret: Resource;

  private constructor(parts: {
    readonly owned: AsyncDisposableStack;
    readonly envoy: OneEnvoy;
    readonly backends: readonly RecordingBackend[];
    readonly ports: Readonly<Record<PortName, number>>;
    readonly certificate: KeyPair;
  }) {
    this.#owned = parts.owned;
    this.envoy = parts.envoy;
    this.backends = parts.backends;
    this.#ports = parts.ports;
    this.#secret = secretOf(parts.certificate);
  }

  static async start(): Promise<GatewayLab> {
    await using owned = new AsyncDisposableStack();
    const backends: RecordingBackend[] = [];
    for (const name of destinations) backends.push(owned.use(await startRecordingBackend(name)));
    const envoy = owned.use(await OneEnvoy.start());
    const ports = { one: await freePort(), two: await freePort(), secure: await freePort() };
    const certificate = await (await createTestAuthority()).keyPair({ hosts: ["*.example"] });
    return new GatewayLab({ owned: owned.move(), envoy, backends, ports, certificate });
  }

  /** Resolves when Envoy serves the rounds. */
  async serve(rounds: readonly GatewayRound[]): Promise<GatewayBatch> {
    this.envoy.nextBatch();
    for (const backend of this.backends) backend.forget();
    const address = (round: number) => this.envoy.address(round);
    const [resources = new Map()] = this.envoy.put(
      [
        // Without it clusters wait for a certificate of the gateway.
        object("PeerAuthentication", "default", { mtls: { mode: "DISABLE" } }),
        ...this.#services(),
        ...rounds.flatMap((round, index) => this.#objects(round, index)),
      ],
      { workloads: [{ app: "edge", addresses: ["*"], type: "router" }], secrets: [this.#secret] },
    );
    await this.envoy.warm();
    const configuration = configurationOf(resources);
    const listening = new Set(configuration.listeners.map(({ name }) => String(name)));
    for (const index of rounds.keys())
      for (const port of Object.values(this.#ports))
        if (listening.has(`${address(index)}_${port}`)) await this.envoy.listening(address(index), port);
    return {
      trace: (round, { port, host, path }) => {
        const isSecure = port === "secure";
        const call: Call = {
          ...{ Address: address(round), Port: this.#ports[port], Protocol: "http", HostHeader: host, Path: path },
          ...(isSecure && ({ TLS: "tls", Sni: host.toLowerCase() } as const)),
        };
        return traceCall(configuration, { call, sourceIp: "127.0.0.1" });
      },
      call: (round, { port, host, path }, headers = {}) => {
        const options = { host: address(round), headers: { host, ...headers } };
        const asked = port === "secure" ? tlsCall : httpCall;
        return asked(this.#ports[port], path, options).catch(undefinedWithoutConnection);
      },
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #services(): readonly KubeObject[] {
    return destinations.map((name, index) =>
      object("ServiceEntry", name, {
        ...{ hosts: [`${name}.${namespace}.svc.cluster.local`], location: "MESH_INTERNAL", resolution: "STATIC" },
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        endpoints: [{ address: "127.0.0.1", ports: { http: this.backends[index]?.port } }],
      }),
    );
  }

  #objects({ gateways, services }: GatewayRound, round: number): readonly KubeObject[] {
    const nameOf = (place: number | "other" | "mesh") => (place === "mesh" ? place : `g${round}-${place}`);
    return [
      ...gateways.map((servers, place) =>
        object("Gateway", nameOf(place), {
          selector: { app: "edge" },
          servers: servers.map(({ port, hosts, redirects }, index) => ({
            port: {
              number: this.#ports[port],
              name: `server-${index}`,
              protocol: port === "secure" ? "HTTPS" : "HTTP",
            },
            bind: this.envoy.address(round),
            hosts,
            ...(port === "secure"
              ? { tls: { mode: "SIMPLE", credentialName: credential } }
              : redirects && { tls: { httpsRedirect: true } }),
          })),
        }),
      ),
      ...services.map(({ hosts, gateways: places, http }, index) =>
        object("VirtualService", `v${round}-${index}`, { hosts, gateways: places.map(nameOf), http }),
      ),
    ];
  }
}

/** The Secret of a Gateway as xds-server sends it; access to Secrets is tested elsewhere. */
function secretOf({ certificatePem, keyPem }: KeyPair): Resource {
  const name = `kubernetes://${credential}`;
  const source = (text: string) => ({ specifier: { case: "inlineBytes", value: Buffer.from(text) } }) as const;
  const tlsCertificate = { certificateChain: source(certificatePem), privateKey: source(keyPem) };
  const bytes = encode(
    SecretSchema,
    create(SecretSchema, { name, type: { case: "tlsCertificate", value: tlsCertificate } }),
  );
  return { name, typeUrl: typeUrl.secret, bytes, version: checksum(Buffer.from(bytes).toString("latin1")) };
}

/** Sends a request over TLS with the host as server name, on a new connection. */
function tlsCall(
  port: number,
  path: string,
  { host, headers }: { readonly host: string; readonly headers: Readonly<Record<string, string>> },
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const started = performance.now();
  const servername = headers["host"]?.toLowerCase() ?? "";
  const options = { host, port, path, headers, servername, agent: false, rejectUnauthorized: false };
  const sent = request(options, (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    response.once("error", reject).once("end", () => {
      const status = response.statusCode ?? 0;
      const tookMs = performance.now() - started;
      resolve({ status, headers: response.headers, body, reply: parseReply(body), tookMs });
    });
  });
  sent.once("error", reject).end();
  return promise;
}

/** A refused connection, or one reset in the handshake as no filter chain matches, is an expected result. */
function undefinedWithoutConnection(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ECONNREFUSED" || error.code === "ECONNRESET") return undefined;
  throw error;
}
