/**
 * The trace of one change, from the file that was written to the acknowledgement of the last proxy: five processes over real NATS and
 * Redis, and a collector that takes OTLP over HTTP.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";

interface Span {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly Omit<Span, "service">[] }[];
  }[];
}

const workDir = mkdtempSync(join(tmpdir(), "flotilla-traces-"));
const config = join(workDir, "config");
const stop = new AbortController();
const spans: Span[] = [];
let collector: Server;
let plane: ControlPlane;
let client: XdsClient;
let running: Promise<void>;

function keep({ resourceSpans }: Exported): void {
  for (const { resource, scopeSpans } of resourceSpans) {
    const service = resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? "";
    for (const { spans: found } of scopeSpans) spans.push(...found.map((span) => ({ ...span, service })));
  }
}

const route = (timeout: string) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "shop" },
  spec: { hosts: ["web"], http: [{ timeout, route: [{ destination: { host: "web" } }] }] },
});
const service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }], selector: { app: "web" } },
};
const save = (name: string, object: object) => writeFileSync(join(config, `${name}.json`), JSON.stringify(object));

describe("the trace of a change", () => {
  before(async () => {
    collector = createServer(async (request, response) => {
      keep(JSON.parse(await text(request)) as Exported);
      response.end("{}");
    }).listen(0, "127.0.0.1");
    await once(collector, "listening");
    mkdirSync(config);
    save("service", service);
    save("route", route("1s"));
    const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
    const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    const shared = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
    const options = { ...shared, firstPort: await freePorts(12) };
    plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
    await allReady(plane, 90_000, () => undefined, stop.signal);
    client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: `127.0.0.1:${plane.layout.ports.xds}` }),
      node: create(NodeSchema, {
        id: "sidecar~127.0.1.11~web.shop~shop.svc.cluster.local",
        metadata: { NAMESPACE: "shop", LABELS: { app: "web" }, INSTANCE_IPS: "127.0.1.11", CLUSTER_ID: "Kubernetes" },
      }),
      backoffMs: () => 200,
    });
    for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
    client.subscribe(typeUrl.route, ["80"]);
    running = client.run(stop.signal);
    await until(() => client.state.held(typeUrl.route).size > 0, { withinMs: 60_000, what: "the first routes" });
  });

  after(async () => {
    stop.abort();
    await running;
    await plane[Symbol.asyncDispose]();
    collector.closeAllConnections();
    collector.close();
    rmSync(workDir, { recursive: true, force: true });
  });

  it("leads from the source's event over the bus to the last acknowledgement", { timeout: 180_000 }, async () => {
    const writtenMs = Date.now();
    save("route", route("7s"));
    const delivered = await until(
      () =>
        spans.find(
          ({ name, service, startTimeUnixNano }) =>
            name === "deliver" && service === "flotilla-xds-server" && Number(startTimeUnixNano) / 1e6 > writtenMs,
        ),
      { withinMs: 60_000, what: "the delivery of the changed route" },
    );
    // Each service exports its spans in batches of its own.
    const steps = ["apply", "debounce", "deliver", "publish"];
    const hasEnded = (step: string) =>
      spans.some(({ traceId, name }) => traceId === delivered.traceId && name === step);
    await until(() => steps.every(hasEnded), { withinMs: 30_000, what: `the spans ${steps}` });
    const trace = spans.filter(({ traceId }) => traceId === delivered.traceId);
    const root = trace.find(({ name }) => name === "publish") ?? assert.fail();
    assert.equal(root.service, "flotilla-config-controller");
    assert.deepEqual([...new Set(trace.map(({ name }) => name))].sort(), steps);
    for (const span of trace) {
      assert.equal(span.parentSpanId, span === root ? undefined : root.spanId, span.name);
      assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano), span.name);
    }
    const objects = trace
      .find(({ name }) => name === "apply")
      ?.attributes.find(({ key }) => key === "flotilla.objects");
    assert.match(objects?.value.stringValue ?? "", /VirtualService\/shop\/web/);
  });
});
