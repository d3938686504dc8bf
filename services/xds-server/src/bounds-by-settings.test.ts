/** Bounds of streams that are set through the environment of xds-server hold at their new values. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { after, before, describe, it } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import { aggregatedDiscoveryService, create, encode, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { openStreams, sendFlood } from "@flotilla/testkit";
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { main } from "./main.ts";

const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
const soon = (what: string) => ({ withinMs: 30_000, everyMs: 5, what });
const stop = new AbortController();
let port: number;
let running: Promise<void>;

before(async () => {
  port = await freePorts(3);
  const busUrl = "embedded:xds-server-bounds";
  await using bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, stop.signal);
  const publisher = createPublisher({ bus, publisher: "one", seal: undefined, log: noopLogger, nowMs: Date.now });
  await publisher.synchronize([]);
  const ports = { XDS_PORT: String(port), HTTP_PORT: String(port + 1), HEALTH_PORT: String(port + 2) };
  running = main(
    {
      ...{ BUS_URL: busUrl, STORE_URL: busUrl, HEALTH_HOST: "127.0.0.1", XDS_HOST: "127.0.0.1", LOG_LEVEL: "silent" },
      ...{ ...ports, REQUIRED_PUBLISHERS: "one", XDS_MAX_NAMES_PER_STREAM: "1000", ISTIO_GPRC_MAXSTREAMS: "3" },
    },
    stop.signal,
  );
  await until(async () => (await fetch(`http://127.0.0.1:${port + 2}/ready`)).ok, soon("xds-server"));
});
after(async () => {
  stop.abort(new Error("the test is over"));
  await Promise.allSettled([running]);
});

function request(names: number): Uint8Array {
  const node = create(NodeSchema, { id: "sidecar~192.0.2.9~a.shop~shop.svc.cluster.local" });
  const resourceNamesSubscribe = Array.from(
    { length: names },
    (_, at) => `outbound|80||s-${at}.shop.svc.cluster.local`,
  );
  const type = { typeUrl: typeUrl.endpoint, resourceNamesSubscribe };
  return encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, { node, ...type }));
}

/** The first answer's bytes, or the failure of the stream. */
function askFor(names: number): Promise<Buffer | ServiceError> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { promise, resolve } = Promise.withResolvers<Buffer | ServiceError>();
  const call = client.makeBidiStreamRequest<Uint8Array, Buffer>(path, Buffer.from, (bytes) => bytes);
  call.once("data", resolve).on("error", (error: ServiceError) => resolve(error));
  call.write(request(names));
  return promise.finally(() => {
    call.cancel();
    client.close();
  });
}

describe("xds-server as it is set", () => {
  it("XDS_MAX_NAMES_PER_STREAM: as many names are answered, one more ends the stream", async () => {
    assert.ok(Buffer.isBuffer(await askFor(1_000)));
    const refused = await askFor(1_001);
    assert.ok(!Buffer.isBuffer(refused));
    assert.equal(refused.code, status.RESOURCE_EXHAUSTED);
    assert.match(refused.details, /more than 1000 resource/);
  });

  it("ISTIO_GPRC_MAXSTREAMS: streams of a connection beyond it are refused, those within it go on", async () => {
    const metrics = async () => (await fetch(`http://127.0.0.1:${port + 2}/metrics`)).text();
    const hasStreams = (count: number) => async () =>
      new RegExp(`^pilot_xds\\{[^}]*\\} ${count}$`, "m").test(await metrics());
    const held = Promise.withResolvers<void>();
    const flooding = sendFlood({ port, path, tls: false, message: request(1) }, openStreams(8), held.promise);
    await until(hasStreams(3), soon("three streams"));
    held.resolve();
    assert.equal((await flooding).resets[constants.NGHTTP2_REFUSED_STREAM], 5);
  });
});
