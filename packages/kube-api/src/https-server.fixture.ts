/** An HTTPS server with a certificate of its own, and the two kinds of proxies that a kubeconfig may name. */
import { randomBytes } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  parseCertificate,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";

export interface TestServer extends AsyncDisposable {
  readonly port: number;
}

export async function startHttps(
  name: string,
  listener: RequestListener,
): Promise<TestServer & { readonly ca: string }> {
  const { ca, ...pair } = await keyPair(name);
  const server = createServer({ ...pair, requestCert: true, rejectUnauthorized: false }, listener);
  return Object.assign(await listen(server), { ca });
}

/** A certificate with the CA that signed it. */
export async function keyPair(name: string) {
  const notBeforeMs = Date.now() - 60_000;
  const common = { serial: randomBytes(16), notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 };
  const rootKey = await generatePrivateKey("ecdsa-p256");
  const root = issueRoot({ ...common, subject: { commonName: "root" }, sans: [] }, rootKey);
  const key = await generatePrivateKey("ecdsa-p256");
  const leaf = { ...common, subject: { commonName: name }, sans: [sanOf(name)], spki: spkiOf(key) };
  const cert = certificatePem(parseCertificate(issueLeaf(leaf, issuerOf(root, rootKey))));
  return { cert, key: privateKeyPem(key), ca: certificatePem(root) };
}

export interface TestProxy extends TestServer {
  /** `host:port`, as it was asked for each. */
  readonly asked: string[];
}

/** An HTTP proxy: CONNECT alone. */
export async function startHttpProxy(): Promise<TestProxy> {
  const asked: string[] = [];
  const server = createHttpServer().on("connect", ({ url = "" }: IncomingMessage, socket) => {
    asked.push(url);
    const [host, port] = url.split(":");
    const there = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      there.pipe(socket).pipe(there);
    });
    there.on("error", () => socket.destroy());
    socket.on("error", () => there.destroy());
  });
  return Object.assign(await listen(server), { asked });
}

/** A SOCKS proxy, version 5, without authentication, for IPv4 addresses (RFC 1928). */
export async function startSocksProxy(): Promise<TestProxy> {
  const asked: string[] = [];
  const server = createTcpServer((socket) => {
    socket.once("data", () => {
      socket.write(Buffer.from([5, 0]));
      socket.once("data", (request) => {
        const bytes = Buffer.from(request);
        const host = bytes.subarray(4, 8).join(".");
        const port = bytes.readUInt16BE(8);
        asked.push(`${host}:${port}`);
        const there = connect(port, host, () => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          there.pipe(socket).pipe(there);
        });
        there.on("error", () => socket.destroy());
      });
    });
    socket.on("error", () => socket.destroy());
  });
  return Object.assign(await listen(server), { asked });
}

async function listen(server: Server): Promise<TestServer> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    // Tunnels stay open behind a server that was closed.
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
