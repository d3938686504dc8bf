/**
 * A server that speaks the contract about a sample mesh, for tests of the page without a control plane: the page's files under the policy of the real
 * server, a session for one token, lists, single things, events.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConsoleEvents, ErrorCode, SessionInfo } from "../contract/index.ts";
import { pageHeaders, readPageFiles, sendPageFile } from "../served-page.ts";
import { sampleAnswer } from "./sample-answers.ts";
import type { SampleMesh } from "./sample-mesh.ts";

/** A running server; disposing of it closes it and its streams. */
export interface SampleServer extends AsyncDisposable {
  readonly url: string;
  /** Sends an event to every open stream. */
  publish<Type extends keyof ConsoleEvents>(type: Type, data: ConsoleEvents[Type]): void;
  /** While false every request of the API is answered with 503 `away`, and streams end: the control plane is away. */
  setAvailable(isAvailable: boolean): void;
  /** Paths of the API that were asked for, in order. */
  readonly asked: readonly string[];
}

export interface SampleServerOptions {
  /** With `index.html` and `assets/`. */
  readonly page: string;
  readonly mesh: SampleMesh;
  /** The one token that is accepted; as the sign-in screen would send it. */
  readonly token: string;
  readonly mayWrite?: boolean;
}

const cookie = "console-session=sample";

/** Listens on a free port of 127.0.0.1. */
export async function serveSample({ page, mesh, token, mayWrite = true }: SampleServerOptions): Promise<SampleServer> {
  const streams = new Set<ServerResponse>();
  const asked: string[] = [];
  let isAvailable = true;
  const session: SessionInfo = {
    ...{ account: "istio-system/operator", mayWrite, idleMs: 1_800_000, version: "0.1.0" },
  };
  const answerApi = async (request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> => {
    const call = `${request.method} ${url.pathname}`;
    asked.push(`${call}${url.search}`);
    if (!isAvailable) return refuse(response, 503, "away", "config-controller gives no answer");
    const body = await readText(request);
    if (call === "POST /api/v1/session") {
      if (JSON.parse(body).token !== token) return refuse(response, 401, "bad-token", "the token is not valid");
      response.setHeader("set-cookie", `${cookie}; HttpOnly; SameSite=Strict; Path=/`);
      return send(response, 201, session);
    }
    if (request.headers.cookie !== cookie) return refuse(response, 401, "no-session", "sign in first");
    if (call === "GET /api/v1/session") return send(response, 200, session);
    if (call === "DELETE /api/v1/session") {
      response.setHeader("set-cookie", "console-session=; Max-Age=0; Path=/");
      return send(response, 204, undefined);
    }
    if (call === "GET /api/v1/events") return openStream(response, streams, mesh);
    const answer = sampleAnswer(mesh, call, url, body);
    if (answer === undefined) return refuse(response, 404, "not-found", "there is no such thing");
    return send(response, answer.status, answer.value);
  };
  const files = await readPageFiles(page);
  const answerPage = async (request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> => {
    const file = files.find(url.pathname);
    if (file === undefined) return refuse(response, 404, "not-found", "there is no such file");
    sendPageFile(file, request, response);
  };
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
    const url = new URL(request.url ?? "/", "http://sample");
    const answer = url.pathname.startsWith("/api/") ? answerApi : answerPage;
    answer(request, response, url).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    publish: (type, data) => {
      for (const stream of streams) stream.write(`event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    setAvailable: (available) => {
      isAvailable = available;
      if (!available) for (const stream of streams) stream.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function openStream(response: ServerResponse, streams: Set<ServerResponse>, mesh: SampleMesh): void {
  streams.add(response);
  response.once("close", () => streams.delete(response));
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  const hello = { generation: mesh.generation, rejections: mesh.rejections.length, services: [] };
  response.write(`event: hello\ndata: ${JSON.stringify(hello)}\n\n`);
}

function refuse(response: ServerResponse, status: number, code: ErrorCode, message: string): void {
  send(response, status, { error: { code, message } });
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(value === undefined ? undefined : JSON.stringify(value));
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}
