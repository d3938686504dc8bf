/** Requests to the sample workload, one after the other, counted. */
import { get } from "node:http";
import { delay } from "@flotilla/runtime";

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface Load extends AsyncDisposable {
  readonly sent: () => number;
  readonly failures: () => readonly string[];
}

const url = `http://127.0.0.1:${process.env["FLOTILLA_WEB_PORT"] ?? "8000"}/`;

/** A connection of its own for each request. */
export function request(): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const headers = { host: "reviews.shop.svc.cluster.local" };
  const sent = get(url, { headers, agent: false, timeout: 5_000 }, async (response) => {
    try {
      let body = "";
      for await (const chunk of response.setEncoding("utf8")) body += String(chunk);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    } catch (error) {
      reject(error);
    }
  });
  sent.on("timeout", () => sent.destroy(new Error("no answer within 5 s")));
  sent.on("error", reject);
  return promise;
}

/** One request every `everyMs` until it is disposed of. */
export function startLoad(everyMs = 50): Load {
  const ended = new AbortController();
  const failures: string[] = [];
  let sent = 0;
  const running = (async () => {
    while (!ended.signal.aborted) {
      sent++;
      try {
        const { status } = await request();
        if (status !== 200) failures.push(`status ${status}`);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
      await delay(everyMs, ended.signal);
    }
  })();
  return {
    sent: () => sent,
    failures: () => failures,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await running;
    },
  };
}
