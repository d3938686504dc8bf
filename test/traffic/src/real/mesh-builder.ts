/** The mesh of a test as it is put together: real back ends, and the objects that name them. */
import { createServer as createHttp2Server } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type EchoServer, startEchoServer } from "@flotilla/dataplane";
import type { ListenPorts } from "./client.ts";
import { testCertificate } from "./test-certificate.ts";

/** Everything lives in this namespace. */
export const namespace = "shop";

export interface Endpoint {
  readonly port: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** `region/zone`. */
  readonly locality?: string;
}

/** The clients' listener that calls of a protocol go to. */
const listenerOf = { HTTP: "http", HTTP2: "http", TCP: "tcp", TLS: "tls" } as const;
type Protocol = keyof typeof listenerOf;

/** A workload with a proxy of its own, which hands on to the back ends behind it. */
export interface Workload {
  readonly name: string;
  readonly ingress: readonly { readonly port: number; readonly backend: number }[];
}

export class MeshBuilder {
  readonly ports: ListenPorts;
  readonly workloads: Workload[] = [];
  /** Servers of features. */
  readonly owned: AsyncDisposableStack;
  readonly #providers: object[] = [];
  readonly #documents: string[] = [];

  constructor(ports: ListenPorts, owned: AsyncDisposableStack) {
    this.ports = ports;
    this.owned = owned;
  }

  /** All objects so far, as a stream of YAML documents. */
  get yaml(): string {
    return this.#documents.join("\n---\n");
  }

  /** The features in MeshConfig, as JSON. */
  get meshConfig(): string {
    return JSON.stringify({ extensionProviders: this.#providers });
  }

  /** One that policies and Telemetry may name. */
  extensionProvider(name: string, settings: object): void {
    this.#providers.push({ name, ...settings });
  }

  async httpBackend(version: string): Promise<EchoServer> {
    return this.owned.use(await startEchoServer(version));
  }

  /** Sends its name and ends the connection. */
  tcpBackend(name: string): Promise<number> {
    const server = createServer((socket) => socket.on("error", () => socket.destroy()).end(`${name}\n`));
    return this.#listen(server);
  }

  /** The same by TLS, with an untrusted certificate. */
  async tlsBackend(name: string): Promise<number> {
    const server = createTlsServer(await testCertificate(), (socket) =>
      socket.on("error", () => socket.destroy()).end(`${name}\n`),
    );
    return this.#listen(server);
  }

  /** HTTP by TLS, with such a certificate: answers with its name and the protocol of the call. */
  async httpsBackend(name: string): Promise<number> {
    const server = createHttpsServer(await testCertificate(), (_, response) => response.end(reply(name, "https")));
    return this.#listen(server);
  }

  /** HTTP/2 without TLS, and nothing else: answers with its name and the protocol of the call. */
  http2Backend(name: string): Promise<number> {
    const server = createHttp2Server((_, response) => response.end(reply(name, "http2")));
    return this.#listen(server);
  }

  /** A service `NAME.shop.svc.cluster.local` on the port that the clients' listener of the protocol has. */
  service(name: string, endpoints: readonly Endpoint[], protocol: Protocol = "HTTP"): void {
    this.serviceEntry(`${name}.${namespace}.svc.cluster.local`, endpoints, { name, protocol });
  }

  serviceEntry(
    host: string,
    endpoints: readonly Endpoint[],
    { name, protocol, location = "MESH_INTERNAL" }: { name: string; protocol: Protocol; location?: string },
  ): void {
    const number = this.ports[listenerOf[protocol]];
    this.object("ServiceEntry", name, {
      hosts: [host],
      location,
      resolution: "STATIC",
      ports: [{ number, name: "main", protocol }],
      endpoints: endpoints.map(({ port, labels = {}, locality = "" }) => {
        return { address: "127.0.0.1", ports: { main: port }, labels, locality };
      }),
    });
  }

  /**
   * A workload with the label `app: NAME` and a service account of that name, whose proxy listens on the ports.
   * @param egress what it may call; nothing
   */
  workload(name: string, ingress: Workload["ingress"], egress: readonly object[] = [{ hosts: ["~/*"] }]): void {
    this.workloads.push({ name, ingress });
    this.object("WorkloadEntry", name, { address: "127.0.0.1", labels: { app: name }, serviceAccount: name });
    this.object("Sidecar", name, {
      workloadSelector: { labels: { app: name } },
      ingress: ingress.map(({ port, backend }) => ({
        port: { number: port, protocol: "HTTP", name: `http-${port}` },
        bind: "127.0.0.1",
        captureMode: "NONE",
        defaultEndpoint: `127.0.0.1:${backend}`,
      })),
      egress,
    });
  }

  /** An HTTP service at one port of a workload. */
  serviceOfWorkload(name: string, workload: string, targetPort: number): void {
    this.object("ServiceEntry", name, {
      hosts: [`${name}.${namespace}.svc.cluster.local`],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: this.ports.http, name: "main", protocol: "HTTP", targetPort }],
      workloadSelector: { labels: { app: workload } },
    });
  }

  object(kind: string, name: string, spec: object): void {
    const apiVersion = `${groupOf(kind)}/v1`;
    this.#documents.push(JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec }));
  }

  /** A VirtualService of the service with that name; `http` in YAML. */
  httpRoutes(name: string, http: string): void {
    this.#documents.push(`apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  hosts: [${name}]
  http:
${http.replace(/^\n/, "")}`);
  }

  /** A DestinationRule of the service with that name; the spec's other fields in YAML, indented by two. */
  rule(name: string, spec: string): void {
    this.#documents.push(`apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  host: ${name}
${spec.replace(/^\n/, "")}`);
  }

  async #listen(server: Server): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    this.owned.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
    return address.port;
  }
}

function groupOf(kind: string): string {
  if (kind.endsWith("Route")) return "gateway.networking.k8s.io";
  return kind === "PeerAuthentication" || kind === "AuthorizationPolicy" ? "security.istio.io" : "networking.istio.io";
}

/** As `EchoReply` has it. */
function reply(version: string, protocol: string): string {
  return `${JSON.stringify({ version, path: "", headers: { protocol } })}\n`;
}
