/** HBONE as a ztunnel speaks it: HTTP/2 CONNECT over mutual TLS, to a waypoint and, behind it, as the end at a captured pod. */
import { X509Certificate } from "node:crypto";
import { request } from "node:http";
import { type ClientHttp2Session, connect, createSecureServer, type ServerHttp2Stream } from "node:http2";
import { connect as connectTcp } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { EchoReply, WorkloadCertificate } from "@flotilla/dataplane";

const answerWithinMs = 30_000;

export interface TunnelAnswer {
  readonly status: number;
  readonly version: string | undefined;
  readonly headers: EchoReply["headers"];
}

/** Calls services as a workload that is captured by a ztunnel: each call has a tunnel of its own on one connection. */
export class TunnelClient implements AsyncDisposable {
  readonly #session: ClientHttp2Session;

  /** @param waypoint `host:port` */
  constructor(waypoint: string, { chain, key, roots }: WorkloadCertificate) {
    // Identities are in URIs, not in names.
    const names = { checkServerIdentity: () => undefined };
    this.#session = connect(`https://${waypoint}`, { ca: roots, cert: chain, key, minVersion: "TLSv1.3", ...names });
    // A connection that fails fails the calls on it.
    this.#session.on("error", () => this.#session.destroy());
  }

  /** @param address of the service, as `address:port` @throws when the tunnel is refused or breaks */
  async call(address: string, path = "/", headers: Readonly<Record<string, string>> = {}): Promise<TunnelAnswer> {
    const tunnel = await this.open(address);
    try {
      return await requestThrough(tunnel, address, { path, headers });
    } finally {
      tunnel.destroy();
    }
  }

  /** The connection within. */
  open(address: string): Promise<Duplex> {
    const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
    const stream = this.#session.request({ ":method": "CONNECT", ":authority": address }, { endStream: false });
    stream.setTimeout(answerWithinMs, () => stream.destroy(new Error(`no answer to CONNECT ${address}`)));
    stream.once("error", reject);
    stream.once("close", () => reject(new Error(`the tunnel to ${address} was closed`)));
    stream.once("response", ({ ":status": status }) => {
      if (status === 200) resolve(stream);
      else reject(new Error(`CONNECT ${address} was answered ${status}`));
    });
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
  }
}

interface InnerRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

function requestThrough(tunnel: Duplex, address: string, { path, headers }: InnerRequest): Promise<TunnelAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<TunnelAnswer>();
  const sent = request({ createConnection: () => tunnel, path, headers: { host: address, ...headers } });
  sent.once("error", reject);
  sent.setTimeout(answerWithinMs, () => sent.destroy(new Error(`no answer to ${path} of ${address}`)));
  sent.once("response", (response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    response.once("error", reject);
    response.once("end", () => {
      const status = response.statusCode ?? 0;
      const reply = status === 200 ? (JSON.parse(body) as EchoReply) : undefined;
      resolve({ status, version: reply?.version, headers: reply?.headers ?? {} });
    });
  });
  sent.end();
  return promise;
}

export interface TunnelEnd extends AsyncDisposable {
  /** Identities that opened tunnels, and what for. */
  readonly opened: readonly { readonly caller: string; readonly address: string }[];
}

/** The ztunnel of a captured pod: ends tunnels of the mesh and connects to the pod. */
export async function startTunnelEnd(host: string, { chain, key, roots }: WorkloadCertificate): Promise<TunnelEnd> {
  const opened: { readonly caller: string; readonly address: string }[] = [];
  const server = createSecureServer({ ca: roots, cert: chain, key, requestCert: true, minVersion: "TLSv1.3" });
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    // A caller that is gone.
    session.on("error", () => session.destroy());
  });
  server.on("stream", (stream, { ":method": method, ":authority": address = "" }) => {
    if (method !== "CONNECT") return stream.close();
    opened.push({ caller: callerOf(stream), address });
    joinWithPod(stream, address);
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(15_008, host, resolve);
  await promise;
  return {
    opened,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function callerOf(stream: ServerHttp2Stream): string {
  const raw = (stream.session?.socket as TLSSocket | undefined)?.getPeerCertificate().raw;
  return raw === undefined ? "" : (new X509Certificate(raw).subjectAltName ?? "");
}

function joinWithPod(stream: ServerHttp2Stream, address: string): void {
  const colon = address.lastIndexOf(":");
  const pod = connectTcp({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) });
  stream.once("error", () => pod.destroy()).once("close", () => pod.destroy());
  pod.once("error", () => stream.close()).once("close", () => stream.close());
  pod.once("connect", () => {
    stream.respond({ ":status": 200 });
    stream.pipe(pod).pipe(stream);
  });
}
