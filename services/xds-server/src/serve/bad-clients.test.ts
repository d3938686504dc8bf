/** Clients that do not read, send garbage, or ask too much: each is counted, and others do not notice. */
import assert from "node:assert/strict";
import { type ClientHttp2Session, connect } from "node:http2";
import { describe, it } from "node:test";
import { checksum } from "@flotilla/model";
import { aggregatedDiscoveryService, create, decode, encode, typeUrl as types } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { noopLogger, until } from "@flotilla/runtime";
import type { Resource } from "@flotilla/xds";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { maxOpenQuestions } from "./debug-answers.ts";
import type { StreamObserver } from "./stream-record.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const raw = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

function big(name: string, content: string, bytes = 2_000_000): Resource {
  return { name, typeUrl: types.cluster, version: checksum(content), bytes: Buffer.alloc(bytes, content) };
}

class RawClient implements Disposable {
  readonly call: ClientDuplexStream<Uint8Array, Buffer>;
  readonly errors: { readonly code: number; readonly details: string }[] = [];
  readonly #client: Client;

  constructor({ address }: TestServer) {
    this.#client = new Client(address, credentials.createInsecure(), {
      "grpc.use_local_subchannel_pool": 1,
      "grpc.max_receive_message_length": -1,
    });
    const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
    this.call = this.#client.makeBidiStreamRequest(path, raw, (bytes) => bytes);
    this.call.on("error", (error: Error & { code: number; details: string }) => void this.errors.push(error));
  }

  ask(typeUrl: string): this {
    this.call.write(firstRequest(typeUrl));
    return this;
  }

  [Symbol.dispose](): void {
    this.call.cancel();
    this.#client.close();
  }
}

/** grpc-js reads ahead without end; a client that really does not read takes the layer below. */
class DeafClient implements Disposable {
  isClosed = false;
  readonly #session: ClientHttp2Session;

  constructor({ address }: TestServer, request: Uint8Array) {
    this.#session = connect(`http://${address}`);
    this.#session.on("error", () => undefined);
    this.#session.on("close", () => {
      this.isClosed = true;
    });
    const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
    const stream = this.#session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => undefined);
    stream.pause();
    const head = Buffer.alloc(5);
    head.writeUInt32BE(request.length, 1);
    stream.write(Buffer.concat([head, request]));
  }

  [Symbol.dispose](): void {
    this.#session.destroy();
  }
}

function firstRequest(typeUrl: string, resourceNamesSubscribe: readonly string[] = []): Uint8Array {
  const node = create(NodeSchema, { id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local" });
  const request = create(DeltaDiscoveryRequestSchema, {
    node,
    typeUrl,
    resourceNamesSubscribe: [...resourceNamesSubscribe],
  });
  return encode(DeltaDiscoveryRequestSchema, request);
}

describe("bad clients", () => {
  it("one that does not read holds one message and is closed in the end; others get every change", async () => {
    await using server = await startTestServer({ limits: { stuckMs: 3_000 } });
    const { source } = server;
    source.put(types.cluster, [big("c", "0")]);
    using reader = new RawClient(server).ask(types.cluster);
    const versions: string[] = [];
    reader.call.on("data", (bytes: Buffer) => {
      const message = decode(DeltaDiscoveryResponseSchema, bytes);
      versions.push(...message.resources.map(({ version }) => version));
      const { typeUrl, nonce: responseNonce } = message;
      reader.call.write(
        encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, { typeUrl, responseNonce })),
      );
    });
    await until(() => versions.length === 1, soon("the stream that reads"));
    using deaf = new DeafClient(server, firstRequest(types.cluster));
    await until(() => server.connected.list().length === 2, soon("both streams"));
    const streams = server.connected.list();
    for (const content of ["1", "2", "3", "4"]) {
      const before = versions.length;
      source.put(types.cluster, [big("c", content)]);
      await until(() => versions.length > before, soon(`change ${content}`));
    }
    // Held since then, for the stuck one may be closed by now.
    const sentToStuck = streams.map((stream) => stream.types().get(types.cluster)?.sent?.position);
    assert.ok(sentToStuck.includes(1), `only the first was written to the one that does not read: ${sentToStuck}`);

    await until(() => server.connected.list().length === 1, soon("the end of the stuck stream"));
    await until(() => deaf.isClosed, soon("its client to notice"));
    assert.match(await server.metrics.text(), /pilot_xds_write_timeout 1/);
    assert.equal(source.sessions, 1);
  });

  it("one that asks debug questions and does not read the answers is closed in the end", async () => {
    const typeUrl = "istio.io/debug/syncz";
    const answer = { name: "all", typeUrl, version: "1", bytes: Buffer.alloc(5_000_000, "x") };
    await using server = await startTestServer({
      limits: { stuckMs: 1_000 },
      options: { debug: () => Promise.resolve([answer]) },
    });
    using deaf = new DeafClient(server, firstRequest(typeUrl));
    await until(() => deaf.isClosed, soon("the end of the client that does not read"));
    assert.equal(server.connected.list().length, 0);
    assert.match(await server.metrics.text(), /pilot_xds_write_timeout 1/);
  });

  it("one that asks more than it waits for is closed, one that reads gets every answer", async () => {
    const typeUrl = "istio.io/debug/syncz";
    let isHeld = true;
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const debug = async () => {
      if (isHeld) await released;
      return [{ name: "all", typeUrl, version: "1", bytes: Buffer.alloc(100_000, "x") }];
    };
    await using server = await startTestServer({ options: { debug } });
    using greedy = new RawClient(server);
    greedy.call.resume();
    for (let question = 0; question <= maxOpenQuestions; question++) greedy.ask(typeUrl);
    await until(() => greedy.errors.length === 1, soon("the end of the client that asks too much"));
    assert.match(greedy.errors[0]?.details ?? "", /more than 16 debug questions/);

    isHeld = false;
    release();
    using reader = new RawClient(server);
    let answers = 0;
    const atOnce = maxOpenQuestions / 2;
    const askSome = (): void => {
      for (let question = 0; question < atOnce; question++) reader.ask(typeUrl);
    };
    reader.call.on("data", () => {
      answers++;
      if (answers % atOnce === 0) askSome();
    });
    askSome();
    await until(() => answers >= 6 * atOnce, soon("all answers"));
    assert.deepEqual(reader.errors, []);
  });

  it("garbage instead of a request is refused by name, first or later", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, []);
    using first = new RawClient(server);
    first.call.resume();
    first.call.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await until(() => first.errors.length === 1, soon("the end"));
    assert.equal(first.errors[0]?.code, 3);
    assert.match(first.errors[0]?.details ?? "", /DeltaDiscoveryRequest/);

    using later = new RawClient(server).ask(types.cluster);
    later.call.resume();
    await until(() => server.connected.list().length === 1, soon("a stream"));
    later.call.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await until(() => later.errors.length === 1, soon("the end"));
    assert.equal(later.errors[0]?.code, 3);
    assert.equal(server.connected.list().length, 0);
    assert.match(await server.metrics.text(), /flotilla_xds_streams_refused_total{reason="node"} 1/);
    assert.match(await server.metrics.text(), /flotilla_xds_streams_refused_total{reason="request"} 1/);
  });

  it("a rejection of an empty resource name ends no loop: other streams go on", { timeout: 20_000 }, async () => {
    const blamed: (readonly string[])[] = [];
    const observer: StreamObserver = { rejected: (_stream, _type, _rejection, names) => void blamed.push(names) };
    await using server = await startTestServer({ options: { observer } });
    const { source } = server;
    source.put(types.route, [{ name: "", typeUrl: types.route, version: "1", bytes: Buffer.alloc(1) }]);
    using bad = new RawClient(server);
    const nonces: string[] = [];
    bad.call.on("data", (bytes: Buffer) => nonces.push(decode(DeltaDiscoveryResponseSchema, bytes).nonce));
    bad.call.write(firstRequest(types.route, [""]));
    await until(() => nonces.length === 1, soon("the resource without a name"));
    const errorDetail = { code: 13, message: "unexpected EOF" };
    const nack = { typeUrl: types.route, responseNonce: nonces[0] ?? "", errorDetail };
    bad.call.write(encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, nack)));
    await until(() => blamed.length === 1, soon("the rejection"));
    assert.deepEqual(blamed, [[""]]);
    source.put(types.cluster, []);
    using good = new RawClient(server).ask(types.cluster);
    let answers = 0;
    good.call.on("data", () => answers++);
    await until(() => answers === 1, soon("an answer to another client"));
  });

  for (const [what, requests, reason] of [
    ["types", Array.from({ length: 65 }, (_, i) => firstRequest(`type.example/${i}`)), /more than 64 types/],
    [
      "names",
      [
        firstRequest(
          types.endpoint,
          Array.from({ length: 1_001 }, (_, i) => `${i}`),
        ),
      ],
      /more than 1000 resource/,
    ],
  ] as const)
    it(`too many ${what} end their stream only`, async () => {
      await using server = await startTestServer({ limits: { maxNames: 1_000 } });
      server.source.put(types.cluster, []);
      using good = new RawClient(server).ask(types.cluster);
      good.call.resume();
      using bad = new RawClient(server);
      bad.call.resume();
      for (const request of requests) bad.call.write(request);
      await until(() => bad.errors.length === 1, soon("the end"));
      assert.equal(bad.errors[0]?.code, 8);
      assert.match(bad.errors[0]?.details ?? "", reason);
      await until(() => server.connected.list().length === 1, soon("the good one alone"));
      assert.match(await server.metrics.text(), /flotilla_xds_streams_refused_total{reason="limit"} 1/);
    });

  it("versions that clients state become a bounded number of labels, and leave with their streams", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, []);
    const node = (version: string) => ({
      id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local",
      metadata: { ISTIO_VERSION: version },
    });
    const request = (version: string) =>
      encode(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, { node: create(NodeSchema, node(version)), typeUrl: types.cluster }),
      );
    {
      using plain = new RawClient(server);
      using strange = new RawClient(server);
      for (const [{ call }, version] of [
        [plain, "1.30.3"],
        [strange, "x".repeat(100_000)],
      ] as const) {
        call.resume();
        call.write(request(version));
      }
      await until(() => server.connected.list().length === 2, soon("both streams"));
      const page = await server.metrics.text();
      assert.match(page, /^pilot_xds\{version="1\.30\.3"\} 1$/m);
      assert.match(page, /^pilot_xds\{version="other"\} 1$/m);
      assert.ok(page.length < 100_000);
    }
    await until(() => server.connected.list().length === 0, soon("no stream"));
    assert.doesNotMatch(await server.metrics.text(), /^pilot_xds\{/m);
  });

  it("metadata of a node over the bound is refused by name", async () => {
    await using server = await startTestServer();
    using bad = new RawClient(server);
    bad.call.resume();
    const node = create(NodeSchema, {
      id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local",
      metadata: { LABELS: { a: "x".repeat(600_000) } },
    });
    bad.call.write(
      encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster })),
    );
    await until(() => bad.errors.length === 1, soon("the end"));
    assert.match(bad.errors[0]?.details ?? "", /metadata has \d+ characters, 524288 are allowed/);
  });

  it("a request above the limit ends its stream only", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, []);
    using good = new RawClient(server).ask(types.cluster);
    good.call.resume();
    using bad = new RawClient(server);
    bad.call.resume();
    bad.call.write(Buffer.alloc(5 * 1024 * 1024));
    await until(() => bad.errors.length === 1, soon("the end"));
    assert.equal(bad.errors[0]?.code, 8);
    assert.match(bad.errors[0]?.details ?? "", /5242880 bytes is over the limit of 4194304/);
    assert.match(await server.metrics.text(), /flotilla_xds_streams_refused_total{reason="size"} 1/);
    // Far over it not even the bytes are taken in.
    using worse = new RawClient(server);
    worse.call.resume();
    worse.call.write(Buffer.alloc(20 * 1024 * 1024));
    await until(() => worse.errors.length === 1, soon("the end of the worse one"));
    await until(() => server.connected.list().length === 1, soon("the good stream"));
  });

  it("one that opens 5,000 streams is served at the pace of the limit, and delays no other client", async () => {
    await using server = await startTestServer({
      limits: { newStreamsPerSecond: 500, newStreamsBurst: 500, newStreamMaxWaitMs: 1_000 },
    });
    const { source } = server;
    source.put(types.cluster, [big("c", "0", 1_000)]);
    using good = new RawClient(server).ask(types.cluster);
    const versions: string[] = [];
    good.call.on("data", (bytes: Buffer) => {
      versions.push(...decode(DeltaDiscoveryResponseSchema, bytes).resources.map(({ version }) => version));
    });
    await until(() => versions.length === 1, soon("the good stream"));

    const many = 5_000;
    const ended = { count: 0 };
    const client = new Client(server.address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
    const calls = Array.from({ length: many }, () => {
      const call = client.makeBidiStreamRequest<Uint8Array, Buffer>(path, raw, (bytes) => bytes);
      call.on("error", () => void ended.count++);
      call.resume();
      call.write(firstRequest(types.cluster));
      return call;
    });
    const settled = () => server.connected.list().length - 1 + ended.count;
    await until(() => settled() === many, { withinMs: 30_000, what: "all to be served or refused", everyMs: 20 });
    const served = server.connected.list().length - 1;
    assert.ok(served >= 500 && served < many, `${served} were served`);
    const refused = /refused_total{reason="rate"} (\d+)/.exec(await server.metrics.text())?.[1];
    assert.equal(Number(refused), many - served);

    source.put(types.cluster, [big("c", "1", 1_000)]);
    await until(() => versions.length === 2, soon("a change at the good stream"));
    for (const call of calls) call.cancel();
    client.close();
    await until(() => server.connected.list().length === 1, {
      withinMs: 30_000,
      what: "the good one alone",
      everyMs: 20,
    });
    assert.equal(source.sessions, 1);
  });

  it("a client that states fields which cannot be read is served, reported and counted", async () => {
    const lines: unknown[] = [];
    const log = { ...noopLogger, warn: (message: string, fields?: object) => void lines.push([message, fields]) };
    const unreadable = () => [{ field: "proxyHeaders.server", reason: "is no object" }];
    await using server = await startTestServer({ options: { unreadable, log } });
    server.source.put(types.cluster, [big("c", "0", 10)]);
    let answers = 0;
    using client = new RawClient(server).ask(types.cluster);
    client.call.on("data", () => void answers++);
    await until(() => answers === 1, soon("an answer"));
    assert.match(
      JSON.stringify(lines),
      /unreadable fields of the proxy's own ProxyConfig.*proxyHeaders\.server: is no object/,
    );
    assert.match(await server.metrics.text(), /flotilla_xds_unreadable_proxy_configs_total 1/);
  });

  it("resources that cannot be made hold up nothing else, and come when they can", async () => {
    await using server = await startTestServer({ limits: { retryMs: 20 } });
    const { source } = server;
    source.put(types.cluster, [big("c", "0", 10)]);
    source.put(types.listener, []);
    source.failing = types.cluster;
    const seen: string[] = [];
    using client = new RawClient(server).ask(types.cluster).ask(types.listener);
    client.call.on("data", (bytes: Buffer) => void seen.push(decode(DeltaDiscoveryResponseSchema, bytes).typeUrl));
    await until(() => seen.length === 1, soon("the other type"));
    source.failing = undefined;
    await until(() => seen.length === 2, soon("the type that failed"));
    assert.deepEqual(seen, [types.listener, types.cluster]);
    assert.match(await server.metrics.text(), /pilot_total_xds_internal_errors [1-9]/);
  });

  it("a resource that cannot be made is logged with its name and the reason", async () => {
    const lines: (readonly [string, object | undefined])[] = [];
    const log = { ...noopLogger, error: (message: string, fields?: object) => void lines.push([message, fields]) };
    await using server = await startTestServer({ options: { log: { ...log, child: () => log } } });
    const { source } = server;
    const error = new Error("no port");
    source.failed = new Map([["outbound|80||a", error]]);
    source.put(types.cluster, [big("c", "0", 10)]);
    let answers = 0;
    using client = new RawClient(server).ask(types.cluster);
    client.call.on("data", () => void answers++);
    await until(() => answers === 1, soon("the other resources"));
    const fields = { type: "cds", count: 1, resource: "outbound|80||a", error };
    assert.deepEqual(lines, [["resources cannot be made", fields]]);
    assert.match(await server.metrics.text(), /pilot_total_xds_internal_errors 1/);
  });

  it("streams that stay silent and streams that go leave nothing behind", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, []);
    const clients = Array.from({ length: 50 }, () => new RawClient(server));
    for (const [i, client] of clients.entries()) {
      client.call.resume();
      if (i % 2 === 0) client.ask(types.cluster);
    }
    await until(() => server.connected.list().length === 25, soon("half of them"));
    for (const client of clients) client[Symbol.dispose]();
    await until(() => server.connected.list().length === 0, soon("none"));
    assert.equal(server.source.sessions, 0);
    assert.deepEqual(server.queue.depth, { waiting: 0, inFlight: 0, stalled: 0 });
  });
});
