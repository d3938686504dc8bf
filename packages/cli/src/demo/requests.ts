/** Requests of the demo's workload, which calls its own proxy. */
import { Agent, request } from "node:http";
import type { EchoReply } from "@flotilla/dataplane";

/** Where a proxy listens. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
}

/** The client's proxy listens here for what its workload calls. */
export const clientProxy: ProxyAddress = { host: "127.0.1.11", port: 8080 };

export interface Answer {
  readonly status: number;
  readonly reply: EchoReply | undefined;
}

// Kept-alive connections would go on by the filter chains of an older listener.
const agent = new Agent({ keepAlive: false, maxSockets: 16 });

export function call(
  host: string,
  headers: Readonly<Record<string, string>> = {},
  path = "/",
  proxy = clientProxy,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...proxy, path, agent, headers: { host, ...headers }, timeout: 5_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, reply: parseReply(body) }));
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer from ${host} within 5 s`)));
    sent.on("error", reject);
    sent.end();
  });
}

/** How many of `count` requests each version answered; other statuses count under `HTTP status`. */
export async function countVersions(
  host: string,
  count: number,
  proxy = clientProxy,
): Promise<ReadonlyMap<string, number>> {
  const answers = await Promise.all(Array.from({ length: count }, () => call(host, {}, "/", proxy)));
  const counts = new Map<string, number>();
  for (const { status, reply } of answers) {
    const key = status === 200 ? (reply?.version ?? "?") : `HTTP ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

export function formatCounts(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort()
    .map(([version, count]) => `${version} ${count}`)
    .join(", ");
}

function parseReply(body: string): EchoReply | undefined {
  try {
    return JSON.parse(body) as EchoReply;
  } catch {
    // An error page of a proxy: its status suffices.
    return undefined;
  }
}
