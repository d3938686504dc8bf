/** A real Envoy as ingress gateway of a control plane in this process, with real back ends and certificates. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:https";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { createServer as createTlsServer } from "node:tls";
import { startProxy } from "@flotilla/cli/testing";
import { type Envoy, startEchoServer } from "@flotilla/dataplane";
import type { JsonObject } from "@flotilla/proto";
import { findServer, freePort } from "@flotilla/servers";
import { createTestAuthority, type KeyPair, ocspResponse, type TestAuthority } from "@flotilla/testkit";
import { startEmbedded, writeWhole } from "../embedded.ts";
import { testCertificate } from "../test-certificate.ts";
import { type GatewayCertificates, type GatewayPorts, gatewayMesh, namespace } from "./gateway-mesh.ts";

export interface GatewayLab extends AsyncDisposable {
  readonly ports: GatewayPorts;
  readonly certificates: GatewayCertificates;
  /** Signed the servers' certificates and those of clients that are let in. */
  readonly authority: TestAuthority;
  /** A debug page of xds-server. */
  page(path: string): Promise<JsonObject>;
  /** Writes or removes the grant of the certificate of another namespace. */
  setGrant(isGranted: boolean): void;
  /** One at a time: all of them listen on the same ports. */
  startGateway(delta: boolean): Promise<Envoy & AsyncDisposable>;
}

/** `settings` of the control plane. */
export async function startGatewayLab(settings: Readonly<Record<string, string>> = {}): Promise<GatewayLab> {
  await using owned = new AsyncDisposableStack();
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-gateways-"));
  owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
  const authority = await createTestAuthority();
  const pair = (host: string) => authority.keyPair({ hosts: [host] });
  const one = await pair("one.example");
  const certificates = {
    ...{ one, two: await pair("two.example"), mutual: await pair("mutual.example") },
    granted: await pair("granted.example"),
    ...{ staple: ocspResponse(one.certificatePem), clientRoot: authority.rootPem },
  };
  const ports = await startBackends(owned);
  const config = join(workDir, "mesh");
  mkdirSync(config);
  const setGrant = (isGranted: boolean) =>
    writeWhole(join(config, "mesh.yaml"), gatewayMesh(ports, certificates, isGranted));
  setGrant(true);
  const { layout } = owned.use(
    await startEmbedded(workDir, config, { more: { GATEWAY_UDP_ROUTES: "true", ...settings } }),
  );
  const binary = await findServer("envoy", { env: process.env });
  const kept = owned.move();
  return {
    ...{ ports, certificates, authority, setGrant },
    page: async (path) =>
      (await (await fetch(`http://127.0.0.1:${layout.ports.xdsHealth}/debug/${path}`)).json()) as JsonObject,
    startGateway: async (delta) => {
      await using own = new AsyncDisposableStack();
      const node = {
        type: "router",
        name: delta ? "edge-delta" : "edge-sotw",
        namespace,
        serviceAccount: "edge",
        labels: { app: "edge" },
        address: "192.0.2.1",
      } as const;
      const envoy = await startProxy(binary, node, layout, own, delta);
      await envoy.ready(60_000);
      const moved = own.move();
      return { ...envoy, [Symbol.asyncDispose]: () => moved.disposeAsync() };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startBackends(owned: AsyncDisposableStack): Promise<GatewayPorts> {
  const [one, two] = [owned.use(await startEchoServer("v1")), owned.use(await startEchoServer("v2"))];
  const greet = (text: string) => (socket: Socket) => void socket.on("error", () => socket.destroy()).end(`${text}\n`);
  const listen = async (server: ReturnType<typeof createServer>): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
    await promise;
    owned.defer(() => void server.close());
    return (server.address() as { readonly port: number }).port;
  };
  const answerDatagrams = async (text: string): Promise<number> => {
    const socket = createSocket("udp4", (_, { port, address }) => socket.send(text, port, address));
    owned.defer(() => void socket.close());
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return socket.address().port;
  };
  return {
    ...{ http: await freePort(), https: await freePort(), web: await freePort(), tcp: await freePort() },
    ...{
      udp: await freePort(),
      granted: await freePort(),
      u1: await answerDatagrams("u1"),
      u2: await answerDatagrams("u2"),
    },
    ...{ v1: one.port, v2: two.port },
    plainTcp: await listen(createServer(greet("plain"))),
    ownTls: await listen(createTlsServer(await testCertificate(), greet("own"))),
  };
}

export interface HttpsCall {
  readonly port: number;
  readonly host: string;
  readonly rootPem: string;
  readonly client?: KeyPair;
}

export interface HttpsAnswer {
  readonly status: number;
  readonly version: string;
  /** Of the certificate that the server showed. */
  readonly fingerprint: string;
}

/** On a connection of its own. Rejects where the handshake fails. */
export function httpsCall({ port, host, rootPem, client }: HttpsCall): Promise<HttpsAnswer> {
  const own = client && { cert: client.certificatePem, key: client.keyPem };
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const { promise, resolve, reject } = Promise.withResolvers<HttpsAnswer>();
  const sent = request(
    { ...{ host: "127.0.0.1", port, agent, servername: host, ca: rootPem, headers: { host } }, ...own },
    (response) => {
      const { fingerprint256: fingerprint } = (response.socket as TLSSocket).getPeerCertificate();
      const version = String(response.headers["x-version"] ?? "");
      response.resume().once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, version, fingerprint }));
    },
  );
  sent.once("error", reject).end();
  return promise;
}

/** The answer to a datagram to a port of this host, from a client port of its own; "" where none comes within two seconds. */
export async function datagramCall(port: number): Promise<string> {
  const socket = createSocket("udp4");
  try {
    const answered = once(socket, "message", { signal: AbortSignal.timeout(2_000) });
    socket.send("ping", port, "127.0.0.1");
    return String((await answered)[0]);
  } catch (error) {
    if ((error as Error).name === "AbortError") return "";
    throw error;
  } finally {
    socket.close();
  }
}
