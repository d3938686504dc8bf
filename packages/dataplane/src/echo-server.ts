/** A small HTTP back end that reports its identity and the request that reached it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EchoServer extends AsyncDisposable {
  readonly port: number;
  /** Requests answered so far. */
  readonly requests: () => number;
  /** From now on every request is answered with this status; undefined: the path decides. */
  answerAllWith(status: number | undefined): void;
}

export interface EchoReply {
  readonly version: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Paths: `/status/CODE` answers with that code, `/delay/MS` waits, `/flaky/N/KEY` answers the first N requests of that
 * path with 503; all else is 200.
 */
export async function startEchoServer(version: string, port = 0, host = "127.0.0.1"): Promise<EchoServer> {
  let requests = 0;
  let statusOfAll: number | undefined;
  const flaky = new Map<string, number>();
  const isStillFailing = (path: string) => {
    const failures = Number(/^\/flaky\/(\d+)/.exec(path)?.[1] ?? 0);
    const seen = (flaky.get(path) ?? 0) + 1;
    if (failures > 0) flaky.set(path, seen);
    return seen <= failures;
  };
  const server = createServer((request, response) => {
    requests++;
    const path = request.url ?? "/";
    const status = statusOfAll ?? (isStillFailing(path) ? 503 : /^\/status\/(\d{3})/.exec(path)?.[1]);
    const delayMs = Number(/^\/delay\/(\d+)/.exec(path)?.[1] ?? 0);
    const reply: EchoReply = { version, path, headers: request.headers };
    setTimeout(() => {
      response.writeHead(Number(status ?? 200), { "content-type": "application/json", "x-version": version });
      response.end(`${JSON.stringify(reply)}\n`);
    }, delayMs);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    requests: () => requests,
    answerAllWith: (status) => {
      statusOfAll = status;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
