/** Floods below gRPC, on the plain and on the TLS port: the connection is closed early or the flood costs nothing, and an honest stream goes on. */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import { aggregatedDiscoveryService, create, encode, typeUrl as types } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { DeltaDiscoveryRequestSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { until } from "@flotilla/runtime";
import { assertBounded, floodDuring, http2Floods, openStreams, sendFlood } from "@flotilla/testkit";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { certificatePem, keyPem } from "./testing/test-certificate.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const { path } = aggregatedDiscoveryService.deltaAggregatedResources;

const noProof: Authenticator = {
  name: "test",
  authenticate: async () => ({ authenticated: false, reason: "nothing shown" }),
};

for (const { title, isTls } of [
  { title: "floods of HTTP/2 on 15010", isTls: false },
  { title: "floods of HTTP/2 on 15012", isTls: true },
]) {
  describe(title, () => {
    for (const flood of http2Floods)
      it(flood.name, { timeout: 60_000 }, async () => {
        await using server = await startTestServer();
        await using tls = await server.ads.serveTls(
          { port: 0, host: "127.0.0.1", setting: "TEST_TLS_PORT", material },
          { authenticator: noProof, mode: "required" },
        );
        using honest = await follow(server);
        const target = { port: isTls ? tls.port : server.port, path, tls: isTls, message: firstRequest };
        assertBounded(flood, await floodDuring(target, flood, () => honest.next()));
        await until(() => server.connected.list().length === 1, soon("the honest stream alone"));
      });
  });
}

it("streams of one connection beyond the bound are refused, those within it and others go on", async () => {
  await using server = await startTestServer({ limits: { maxStreamsPerConnection: 3 } });
  using honest = await follow(server);
  const flooding = sendFlood(
    { port: server.port, path, tls: false, message: firstRequest },
    openStreams(8),
    honest.next(),
  );
  await until(() => server.connected.list().length === 4, soon("three streams beside the honest one"));
  assert.equal((await flooding).resets[constants.NGHTTP2_REFUSED_STREAM], 5);
});

const node = create(NodeSchema, { id: "sidecar~10.0.0.2~b.shop~shop.svc.cluster.local" });
const firstRequest = encode(
  DeltaDiscoveryRequestSchema,
  create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster }),
);
const material = { keyPem, chainPem: certificatePem, rootsPem: certificatePem };
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 5 });

interface Honest extends Disposable {
  /** Changes the source, and resolves when the change is here. */
  next(): Promise<void>;
}

async function follow({ address, source }: TestServer): Promise<Honest> {
  const stop = new AbortController();
  let updates = 0;
  source.put(types.cluster, []);
  const client = new XdsClient({
    form: "delta",
    node: create(NodeSchema, { id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local" }),
    transport: grpcTransport({ address }),
    backoffMs: () => 60_000,
    onUpdate: () => {
      updates++;
    },
  });
  client.subscribe(types.cluster);
  const running = client.run(stop.signal);
  running.catch(() => undefined);
  await until(() => updates === 1, soon("the first answer"));
  return {
    next: async () => {
      const before = updates;
      source.put(types.cluster, [{ name: "c", typeUrl: types.cluster, version: "2", bytes: Buffer.alloc(0) }]);
      await until(() => updates > before, soon("a change at the honest stream"));
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}
