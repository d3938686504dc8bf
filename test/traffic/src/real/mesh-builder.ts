/** The mesh of a test as it is put together: real back ends, and the objects that name them. */
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type EchoServer, startEchoServer } from "@flotilla/dataplane";
import { freePort } from "@flotilla/servers";
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

/** A workload with a proxy of its own, which hands on to the back ends behind it. */
export interface Workload {
  readonly name: string;
  readonly ingress: readonly { readonly port: number; readonly backend: number }[];
}

export class MeshBuilder {
  readonly ports: ListenPorts;
  readonly workloads: Workload[] = [];
  readonly #owned: AsyncDisposableStack;
  readonly #documents: string[] = [];

  constructor(ports: ListenPorts, owned: AsyncDisposableStack) {
    this.ports = ports;
    this.#owned = owned;
  }

  /** All objects so far, as a stream of YAML documents. */
  get yaml(): string {
    return this.#documents.join("\n---\n");
  }

  async httpBackend(version: string): Promise<EchoServer> {
    return this.#owned.use(await startEchoServer(version));
  }

  /** Says its name and ends the connection. */
  tcpBackend(name: string): Promise<number> {
    const server = createServer((socket) => socket.on("error", () => socket.destroy()).end(`${name}\n`));
    return this.#listen(server);
  }

  /** The same by TLS, with a certificate that nobody trusts. */
  async tlsBackend(name: string): Promise<number> {
    const server = createTlsServer(await testCertificate(), (socket) =>
      socket.on("error", () => socket.destroy()).end(`${name}\n`),
    );
    return this.#listen(server);
  }

  /** A port where nobody listens. */
  unusedPort(): Promise<number> {
    return freePort();
  }

  /** A service `NAME.shop.svc.cluster.local` on the port that the clients' listener of the protocol has. */
  service(name: string, endpoints: readonly Endpoint[], protocol: "HTTP" | "TCP" | "TLS" = "HTTP"): void {
    this.serviceEntry(`${name}.${namespace}.svc.cluster.local`, endpoints, { name, protocol });
  }

  serviceEntry(
    host: string,
    endpoints: readonly Endpoint[],
    {
      name,
      protocol,
      location = "MESH_INTERNAL",
    }: { name: string; protocol: "HTTP" | "TCP" | "TLS"; location?: string },
  ): void {
    const number = this.ports[protocol.toLowerCase() as keyof ListenPorts];
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

  /** A workload with the label `app: NAME` and a service account of that name, whose proxy listens on the ports. */
  workload(name: string, ingress: Workload["ingress"]): void {
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
      egress: [{ hosts: ["~/*"] }],
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
    const apiVersion = kind === "PeerAuthentication" ? "security.istio.io/v1" : "networking.istio.io/v1";
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

  async #listen(server: ReturnType<typeof createServer>): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    this.#owned.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP server has a port");
    return address.port;
  }
}
