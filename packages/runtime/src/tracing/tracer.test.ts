import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { noopLogger } from "../logger.ts";
import { until } from "../wait.ts";
import { createTracer, type Span } from "./tracer.ts";

interface Received {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly Readonly<Record<string, unknown>>[] }[];
  }[];
}

/** A collector that answers with `status` and keeps the spans. */
async function collector(status = () => 200) {
  const spans: Readonly<Record<string, unknown>>[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Received;
    assert.equal(request.url, "/v1/traces");
    const code = status();
    if (code === 200)
      spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));
    response.writeHead(code).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, spans, [Symbol.asyncDispose]: close };
}

const span: Span = {
  ...{ trace: "config-controller/ab/7", name: "publish", isRoot: true, startMs: 1_000.5, endMs: 2_000 },
  attributes: { "flotilla.changes": 3, "flotilla.source": "directory" },
};
const options = { service: "config-controller", version: "1", traceShare: 1, log: noopLogger };

describe("traces of changes", () => {
  it("are sent where their place is below the share, and what waits at the end is tried once", async () => {
    await using to = await collector();
    const place = Number.parseInt(hash("sha256", span.trace, "hex").slice(0, 8), 16) / 2 ** 32;
    for (const [traceShare, sent] of [
      [place, 0],
      [place + 2 ** -32, 1],
    ] as const) {
      const tracer = createTracer({ ...options, traceEndpoint: to.url, traceShare }) ?? assert.fail("no tracer");
      tracer.record(span);
      await tracer.run(AbortSignal.abort());
      assert.equal(to.spans.length, sent);
    }
  });

  it("are off without an endpoint", () => {
    assert.equal(createTracer({ ...options, traceEndpoint: undefined }), undefined);
  });

  it("beyond 4,096 that wait are dropped, which is logged once they are sent", async () => {
    let status = 503;
    await using to = await collector(() => status);
    const stop = new AbortController();
    const resumed: unknown[] = [];
    const log = { ...noopLogger, info: (_: string, fields?: object) => void resumed.push(fields) };
    const tracer = createTracer({ ...options, traceEndpoint: to.url, log }) ?? assert.fail("no tracer");
    for (let i = 0; i < 4_100; i++) tracer.record(span);
    status = 200;
    const running = tracer.run(stop.signal);
    await until(() => to.spans.length === 4_096, { withinMs: 60_000, what: "the spans that waited" });
    stop.abort();
    await running;
    assert.equal(to.spans.length, 4_096);
  });

  it("reach a collector, children below the root whatever process recorded them", async () => {
    await using to = await collector();
    const stop = new AbortController();
    const tracers = ["config-controller", "xds-server"].map((service) => {
      const tracer = createTracer({ ...options, service, traceEndpoint: to.url });
      return tracer ?? assert.fail();
    });
    const running = tracers.map((tracer) => tracer.run(stop.signal));
    tracers[0]?.record(span);
    tracers[1]?.record({ ...span, isRoot: false, name: "apply" });
    await until(() => to.spans.length === 2, { withinMs: 10_000, what: "both spans" });
    const [root, child] = ["publish", "apply"].map((name) => to.spans.find((one) => one["name"] === name));
    assert.match(String(root?.["traceId"]), /^[0-9a-f]{32}$/);
    assert.match(String(root?.["spanId"]), /^[0-9a-f]{16}$/);
    assert.equal(root?.["parentSpanId"], undefined);
    assert.deepEqual([child?.["traceId"], child?.["parentSpanId"]], [root?.["traceId"], root?.["spanId"]]);
    assert.deepEqual([root?.["startTimeUnixNano"], root?.["endTimeUnixNano"]], ["1000500000", "2000000000"]);
    assert.deepEqual(root?.["attributes"], [
      { key: "flotilla.changes", value: { intValue: "3" } },
      { key: "flotilla.source", value: { stringValue: "directory" } },
    ]);
    stop.abort();
    await Promise.all(running);
  });

  it("log one line while the collector is away, and go on", async () => {
    let code = 503;
    await using to = await collector(() => code);
    const lines: string[] = [];
    const log = {
      ...noopLogger,
      warn: (event: string, fields: unknown) => lines.push(`${event} ${JSON.stringify(fields)}`),
      info: (event: string, fields: unknown) => lines.push(`${event} ${JSON.stringify(fields)}`),
    };
    const stop = new AbortController();
    const tracer = createTracer({ ...options, log, traceEndpoint: to.url }) ?? assert.fail();
    const running = tracer.run(stop.signal);
    tracer.record(span);
    await until(() => lines.length === 1, { withinMs: 10_000, what: "the warning" });
    assert.match(lines[0] ?? "", /^traces cannot be sent .*answers 503/);
    code = 200;
    tracer.record(span);
    await until(() => to.spans.length === 1, { withinMs: 10_000, what: "the second span" });
    stop.abort();
    await running;
    assert.deepEqual(lines.slice(1), ['traces are sent again {"dropped":1}']);
  });

  it("of a share are chosen by the trace alone", async () => {
    await using to = await collector();
    const stop = new AbortController();
    const tracer = createTracer({ ...options, traceShare: 0.25, traceEndpoint: to.url }) ?? assert.fail();
    for (let i = 0; i < 400; i++)
      for (const name of ["publish", "apply"]) tracer.record({ ...span, name, trace: `config-controller/ab/${i}` });
    stop.abort();
    // Ends at once, and sends one batch of what waited.
    await tracer.run(stop.signal);
    const traces = Map.groupBy(to.spans, (one) => String(one["traceId"]));
    assert.ok(traces.size > 60 && traces.size < 140, `${traces.size} of 400`);
    for (const spans of traces.values()) assert.equal(spans.length, 2);
  });
});
