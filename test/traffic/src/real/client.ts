/** Requests and connections of a workload that calls its own proxy. */
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { EchoReply } from "@flotilla/dataplane";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The back end's answer; undefined when the proxy answered itself. */
  readonly reply: EchoReply | undefined;
  readonly tookMs: number;
}

export interface CallOptions {
  /** An address of this machine; 127.0.0.1 when absent. */
  readonly host?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The ports of one listener for each protocol, all on 127.0.0.1. */
export interface ListenPorts {
  readonly http: number;
  readonly tcp: number;
  readonly tls: number;
}

// Kept-alive connections would go on by the filter chains of an older listener.
const agent = new Agent({ keepAlive: false });
const answerWithinMs = 10_000;

export class Client {
  readonly ports: ListenPorts;

  constructor(ports: ListenPorts) {
    this.ports = ports;
  }

  /** A request to a service of the test's namespace by its short name, or to a full host name. */
  call(service: string, path = "/", options: CallOptions = {}): Promise<Answer> {
    return httpCall(this.ports.http, path, {
      ...options,
      headers: { host: `${service}:${this.ports.http}`, ...options.headers },
    });
  }

  /** Versions that answered `count` requests; an answer that is no 200 counts as its status. */
  async versions(
    service: string,
    count: number,
    optionsOf: (index: number) => CallOptions = () => ({}),
  ): Promise<Readonly<Record<string, number>>> {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) => this.call(service, "/", optionsOf(index))),
    );
    const counts: Record<string, number> = {};
    for (const { status, reply } of answers) {
      const key = status === 200 ? (reply?.version ?? "?") : String(status);
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  }

  /** The first line that a TCP back end greets with; "" when the connection is refused or closed. */
  greeting(): Promise<string> {
    return firstLine(connect({ host: "127.0.0.1", port: this.ports.tcp }));
  }

  /** The same by TLS, to the back end's own certificate; the proxy sees the server name only. */
  tlsGreeting(servername: string): Promise<string> {
    return firstLine(connectTls({ host: "127.0.0.1", port: this.ports.tls, servername, rejectUnauthorized: false }));
  }
}

/** @throws when there is no HTTP answer. */
export function httpCall(
  port: number,
  path: string,
  { host = "127.0.0.1", method = "GET", headers = {} }: CallOptions = {},
): Promise<Answer> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path, method, agent, headers, timeout: answerWithinMs });
    sent.on("response", (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body,
          reply: parseReply(body),
          tookMs: performance.now() - started,
        }),
      );
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer to ${method} ${path} within ${answerWithinMs} ms`)));
    sent.on("error", reject);
    sent.end();
  });
}

export function firstLine(socket: ReturnType<typeof connect>): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("utf8");
    socket.setTimeout(answerWithinMs, () => socket.destroy());
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) socket.destroy();
    });
    // A refused connection has no first line: that is the answer.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(text.split("\n", 1)[0] ?? ""));
  });
}

/** Undefined for a response of the proxy itself. */
export function parseReply(body: string): EchoReply | undefined {
  try {
    return JSON.parse(body) as EchoReply;
  } catch {
    // The proxy's own pages are no JSON.
    return undefined;
  }
}
