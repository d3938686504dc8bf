/** Reading of statistics: one question to a server, whose answer is bounded in size and time. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { createStatsReader, parseStats, type StatsReaderOptions } from "./proxy-stats.ts";

const text = `# TYPE envoy_cluster_upstream_rq counter
envoy_cluster_upstream_rq{cluster_name="outbound|80||web.example",code="200"} 12
envoy_server_uptime{} 7
envoy_cluster_upstream_rq_time_bucket{le="0.5"} 3
envoy_cluster_upstream_rq_time_sum{cluster_name="a"} 4.5
envoy_cluster_upstream_rq_time_count{cluster_name="a"} 2
envoy_server_total_connections 1e3
istio_build{component="proxy"} 1
envoy_broken
`;

async function serve(answer: RequestListener) {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function readFrom(answer: RequestListener, options: Partial<StatsReaderOptions> = {}) {
  await using server = await serve(answer);
  return await createStatsReader({ timeoutMs: 5_000, ...options }).read(server.address);
}

const refused = [
  {
    name: "no statistics of an Envoy",
    answer: (_, response) => void response.end("redis_version:7"),
    code: "upstream",
  },
  { name: "another status", answer: (_, response) => void response.writeHead(404).end("no"), code: "upstream" },
  {
    name: "a redirect, which is not followed",
    answer: (request, response) =>
      request.url?.startsWith("/elsewhere") === true
        ? void response.end("envoy_a 1\n")
        : void response.writeHead(302, { location: "/elsewhere" }).end(),
    code: "away",
  },
  {
    name: "more than the bound",
    answer: (_, response) => void response.end("envoy_a 1\n".repeat(1_000)),
    code: "too-large",
  },
  { name: "nothing in time", answer: (_, response) => void response.write("envoy_a 1\n"), code: "away" },
] as const satisfies readonly { name: string; answer: RequestListener; code: string }[];

describe("statistics of an Envoy", () => {
  it("have their labels, and of histograms the sum and the count", () => {
    assert.deepEqual(parseStats(text), [
      { name: 'cluster_upstream_rq{cluster_name="outbound|80||web.example",code="200"}', value: 12 },
      { name: "server_uptime", value: 7 },
      { name: 'cluster_upstream_rq_time_sum{cluster_name="a"}', value: 4.5 },
      { name: 'cluster_upstream_rq_time_count{cluster_name="a"}', value: 2 },
      { name: "server_total_connections", value: 1_000 },
    ]);
  });

  it("are read by one question without a token", async () => {
    const asked: unknown[] = [];
    const rows = await readFrom((request, response) => {
      asked.push([request.method, request.url, request.headers.authorization, request.headers.cookie]);
      response.end(text);
    });
    assert.equal(rows.length, 5);
    assert.deepEqual(asked, [["GET", "/stats/prometheus?usedonly", undefined, undefined]]);
  });

  for (const { name, answer, code } of refused)
    it(`are refused where the answer is ${name}`, () =>
      assert.rejects(readFrom(answer, { maxBytes: 5_000, timeoutMs: 300 }), { code }));

  it("are refused where the port is closed", async () => {
    const { address } = await (async () => {
      await using server = await serve(() => undefined);
      return server;
    })();
    await assert.rejects(createStatsReader({ timeoutMs: 5_000 }).read(address), { code: "away" });
  });

  it("are read of a bounded number of proxies at a time", async () => {
    const waiting: (() => void)[] = [];
    await using server = await serve((_, response) => void waiting.push(() => void response.end(text)));
    const reader = createStatsReader({ timeoutMs: 5_000, maxAtOnce: 1 });
    const first = reader.read(server.address);
    await assert.rejects(reader.read(server.address), { code: "too-many" });
    while (waiting.length === 0) await new Promise(setImmediate);
    waiting[0]?.();
    assert.equal((await first).length, 5);
    const next = reader.read(server.address);
    while (waiting.length === 1) await new Promise(setImmediate);
    waiting[1]?.();
    assert.equal((await next).length, 5);
  });
});
