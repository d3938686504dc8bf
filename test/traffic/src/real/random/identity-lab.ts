/** Each batch of rounds as workloads of a mesh with mutual TLS, and callers with certificates and tokens. */
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { startEchoServer } from "@flotilla/dataplane";
import type { KubeObject } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { freePort } from "@flotilla/servers";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";
import { type Arrival, type Trace, traceCall } from "@flotilla/traffic";
import {
  type IdentityRequest,
  type IdentityRound,
  issuers,
  type PeerName,
  peers,
  tokens,
  trustDomains,
} from "./identity-rounds.ts";
import { configurationOf, OneEnvoy, object } from "./one-envoy.ts";

export interface IdentityBatch {
  /** The status; `closed` where the connection is. */
  call(round: number, asked: IdentityRequest): Promise<number | "closed">;
  /** The evaluated way of the same call, and to a connection to the TCP port. Tokens that are not valid are left out. */
  trace(round: number, asked: IdentityRequest | { readonly peer: PeerName | undefined }): Trace;
  /** Resolves to true if the back end of the TCP port answers. */
  exchange(round: number, peer: PeerName | undefined): Promise<boolean>;
}

interface Ports {
  readonly HTTP: number;
  readonly TCP: number;
}

const withinMs = 10_000;

export class IdentityLab implements AsyncDisposable {
  readonly envoy: OneEnvoy;
  readonly ports: Ports;
  readonly #owned: AsyncDisposableStack;
  readonly #backends: Ports;
  readonly #certificates: ReadonlyMap<PeerName, KeyPair>;
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #jwks: ReadonlyMap<string, string>;
  readonly #tokens: ReadonlyMap<string, string>;

  private constructor(parts: {
    readonly owned: AsyncDisposableStack;
    readonly envoy: OneEnvoy;
    readonly ports: Ports;
    readonly backends: Ports;
    readonly certificates: ReadonlyMap<PeerName, KeyPair>;
  }) {
    this.#owned = parts.owned;
    this.envoy = parts.envoy;
    this.ports = parts.ports;
    this.#backends = parts.backends;
    this.#certificates = parts.certificates;
    const pairs = new Map(
      [...issuers, "nobody"].map((name) => [name, generateKeyPairSync("rsa", { modulusLength: 2048 })]),
    );
    this.#keys = new Map([...pairs].map(([name, { privateKey }]) => [name, privateKey]));
    this.#jwks = new Map(
      [...pairs].map(([name, { publicKey }]) => [
        name,
        JSON.stringify({ keys: [publicKey.export({ format: "jwk" })] }),
      ]),
    );
    this.#tokens = new Map(Object.keys(tokens).map((name) => [name, this.#tokenOf(name as keyof typeof tokens)]));
  }

  static async start(): Promise<IdentityLab> {
    await using owned = new AsyncDisposableStack();
    const authority = await createTestAuthority();
    const certificateOf = (trustDomain: string, namespace: string, account: string) =>
      authority.keyPair({ hosts: [`spiffe://${trustDomain}/ns/${namespace}/sa/${account}`] });
    const certificates = new Map<PeerName, KeyPair>();
    for (const [name, { trustDomain, namespace, account }] of Object.entries(peers))
      certificates.set(name as PeerName, await certificateOf(trustDomain, namespace, account));
    const own = await certificateOf("cluster.local", "shop", "callee");
    const certificate = { chain: own.certificatePem, key: own.keyPem, roots: authority.rootPem };
    const envoy = owned.use(await OneEnvoy.start(certificate));
    const backends = { HTTP: owned.use(await startEchoServer("callee")).port, TCP: await startTcpEcho(owned) };
    const ports = { HTTP: await freePort(), TCP: await freePort() };
    return new IdentityLab({ owned: owned.move(), envoy, ports, backends, certificates });
  }

  /** Served when it resolves. */
  async serve(rounds: readonly IdentityRound[]): Promise<IdentityBatch> {
    this.envoy.nextBatch();
    const address = (round: number) => this.envoy.address(round);
    const workloads = rounds.map((_, index) => ({ app: `w${index}`, addresses: [address(index)] }));
    const resources = this.envoy.put(
      rounds.flatMap((round, index) => this.#objects(round, index)),
      { mesh: { trustDomain: trustDomains[0] ?? "", trustDomainAliases: trustDomains.slice(1) }, workloads },
    );
    for (const index of rounds.keys())
      for (const port of Object.values(this.ports)) await this.envoy.listening(address(index), port);
    const traced = resources.map(configurationOf);
    return {
      trace: (round, asked) => {
        const configuration = traced[round];
        if (configuration === undefined) throw new RangeError(`there is no round ${round}`);
        return traceCall(configuration, this.#arrival(address(round), asked));
      },
      call: (round, asked) => this.#call(address(round), asked),
      exchange: (round, peer) => exchange(this.#connect(address(round), this.ports.TCP, peer, "istio")),
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }

  #objects({ mode, issuers: checked, policies }: IdentityRound, index: number): readonly KubeObject[] {
    const selector = { matchLabels: { app: `w${index}` } };
    const jwtRules = checked.map((issuer) => ({ issuer, jwks: this.#jwks.get(issuer) ?? "" }));
    const ingress = (["HTTP", "TCP"] as const).map((protocol) => ({
      port: { number: this.ports[protocol], name: protocol.toLowerCase(), protocol },
      ...{
        bind: this.envoy.address(index),
        captureMode: "NONE",
        defaultEndpoint: `127.0.0.1:${this.#backends[protocol]}`,
      },
    }));
    return [
      object("PeerAuthentication", `w${index}`, { selector, mtls: { mode } }),
      object("Sidecar", `w${index}`, {
        workloadSelector: { labels: selector.matchLabels },
        ingress,
        egress: [{ hosts: ["~/*"] }],
      }),
      ...(jwtRules.length === 0 ? [] : [object("RequestAuthentication", `w${index}`, { selector, jwtRules })]),
      ...policies.map((policy, number) =>
        object("AuthorizationPolicy", `w${index}-${number}`, { selector, ...policy }),
      ),
    ];
  }

  #arrival(address: string, asked: IdentityRequest | { readonly peer: PeerName | undefined }): Arrival {
    const { trustDomain, namespace, account } = peers[asked.peer ?? "shop/a"];
    const shown = "token" in asked && asked.token !== undefined ? tokens[asked.token] : undefined;
    const claims = shown !== undefined && !("isForged" in shown) ? shown.claims : undefined;
    const isHttp = "method" in asked;
    return {
      call: {
        ...{ Address: address, Port: isHttp ? this.ports.HTTP : this.ports.TCP, HostHeader: "w.example" },
        ...{ Protocol: isHttp ? "http" : "tcp", TLS: asked.peer === undefined ? "plaintext" : "mtls" },
        ...(isHttp && { Method: asked.method, Path: asked.path }),
        ...(claims !== undefined && { Claims: claims as unknown as JsonObject }),
      },
      peer: asked.peer === undefined ? undefined : `spiffe://${trustDomain}/ns/${namespace}/sa/${account}`,
      sourceIp: "127.0.0.1",
    };
  }

  async #call(address: string, { peer, token, method, path }: IdentityRequest): Promise<number | "closed"> {
    const headers = { host: "w.example", ...(token && { authorization: `Bearer ${this.#tokens.get(token)}` }) };
    const { promise, resolve } = Promise.withResolvers<number | "closed">();
    const createConnection = () => this.#connect(address, this.ports.HTTP, peer, "istio-http/1.1");
    // Without an agent: each request has a connection of its own.
    const sent = request({ method, path, headers, createConnection, timeout: withinMs });
    sent.once("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("timeout", () => sent.destroy(new Error(`no answer to ${method} ${path}`)));
    // A handshake that fails closes the connection: that is the answer.
    sent.once("error", () => resolve("closed"));
    sent.end();
    return promise.finally(() => sent.destroy());
  }

  #connect(host: string, port: number, peer: PeerName | undefined, protocol: string): Socket {
    if (peer === undefined) return connect({ host, port });
    const { certificatePem: cert = "", keyPem: key = "" } = this.#certificates.get(peer) ?? {};
    // The callee's certificate names no host; who it is, is not asked here.
    return connectTls({ host, port, cert, key, ALPNProtocols: [protocol], rejectUnauthorized: false });
  }

  #tokenOf(name: keyof typeof tokens): string {
    const token = tokens[name];
    const key = this.#keys.get("isForged" in token ? "nobody" : token.claims.iss);
    if (key === undefined) throw new Error(`the issuer of ${name} has no key`);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const signed = `${part({ alg: "RS256", typ: "JWT" })}.${part({ ...token.claims, exp })}`;
    return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key).toString("base64url")}`;
  }
}

/** Answers what it is sent. */
async function startTcpEcho(owned: AsyncDisposableStack): Promise<number> {
  const server = createServer((socket) => socket.on("error", () => socket.destroy()).pipe(socket));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(0, "127.0.0.1", resolve);
  await promise;
  owned.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Policies judge a connection when its first bytes come. */
function exchange(socket: Socket): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  socket.once("data", () => resolve(true));
  // Refused, or no handshake: that is the answer.
  socket.once("error", () => resolve(false)).once("close", () => resolve(false));
  socket.setTimeout(withinMs, () => reject(new Error("no answer and no end of the connection")));
  socket.write("hello\n");
  return promise.finally(() => socket.destroy());
}
