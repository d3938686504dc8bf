/** Sessions of one proxy that goes on for ever with what a proxy may do: others get their changes, and what the server keeps and logs stays small. */
import assert from "node:assert/strict";
import { connect } from "node:http2";
import { connect as tcp } from "node:net";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { aggregatedDiscoveryService, create, decode, encode, typeUrl as types } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
import { beginCall, openIdle } from "@flotilla/testkit";
import { Client, type ClientDuplexStream, credentials } from "@grpc/grpc-js";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const { path } = aggregatedDiscoveryService.deltaAggregatedResources;
const frameHeadBytes = 5;
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 2 });
type Request = Parameters<typeof create<typeof DeltaDiscoveryRequestSchema>>[1];

function requestOf(fields: Request): Buffer {
  return Buffer.from(encode(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, fields)));
}

class Session implements Disposable {
  readonly call: ClientDuplexStream<Buffer, Buffer>;
  readonly ends: { readonly code: number; readonly details: string }[] = [];
  readonly nonces: string[] = [];
  readonly versions: string[] = [];
  readonly #client: Client;

  constructor({ address }: TestServer) {
    this.#client = new Client(address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    this.call = this.#client.makeBidiStreamRequest(
      path,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
    );
    this.call.on("error", (error: Error & { code: number; details: string }) => void this.ends.push(error));
    this.call.on("data", (bytes: Buffer) => {
      const { nonce, resources } = decode(DeltaDiscoveryResponseSchema, bytes);
      this.nonces.push(nonce);
      this.versions.push(...resources.map(({ version }) => version));
    });
  }

  send(fields: Request): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.call.write(requestOf(fields), () => resolve());
    return promise;
  }

  begin(typeUrl: string, resourceNamesSubscribe: string[] = []): Promise<void> {
    const node = create(NodeSchema, { id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local" });
    return this.send({ node, typeUrl, resourceNamesSubscribe });
  }

  [Symbol.dispose](): void {
    this.call.cancel();
    this.#client.close();
  }
}

/** A victim that follows clusters; `next` changes one, and resolves when the victim has the change. */
async function victimOf(server: TestServer) {
  let version = 0;
  const put = () =>
    server.source.put(types.cluster, [
      { name: "c", typeUrl: types.cluster, version: `v${++version}`, bytes: Buffer.alloc(10) },
    ]);
  put();
  const session = new Session(server);
  await session.begin(types.cluster);
  const has = () => until(() => session.versions.includes(`v${version}`), soon(`version ${version} at the victim`));
  await has();
  return {
    next: async () => {
      put();
      await has();
    },
    [Symbol.dispose]: () => session[Symbol.dispose](),
  };
}

function countingLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  const note = (text: string): void => void lines.push(text);
  const log: Logger = { ...noopLogger, warn: note, info: note, child: () => log };
  return { log, lines };
}

const many = 2_000;

describe("silent connections without TLS", () => {
  it("of one address are 2,048 at most: the oldest are closed, and streams of that address go on", async () => {
    await using server = await startTestServer();
    using victim = await victimOf(server);
    using silent = await openIdle(() => tcp(server.port, "127.0.0.1"), 2_200);
    await until(() => silent.left() <= 2_048, soon("the bound"));
    assert.equal(silent.left(), 2_048);
    assert.match(await server.metrics.text(), /^flotilla_xds_idle_connections_closed_total 152$/m);
    await victim.next();
    using another = await victimOf(server);
    await another.next();
  });
});

describe("calls without a request", () => {
  it("keep no connection: 2,048 of an address stay, and streams of that address go on", async () => {
    await using server = await startTestServer({ limits: { newStreamsPerSecond: 100_000, newStreamsBurst: 100_000 } });
    using victim = await victimOf(server);
    const bytes = beginCall(path);
    const open = () => {
      const socket = tcp(server.port, "127.0.0.1");
      socket.write(bytes);
      return socket;
    };
    // The server's SETTINGS, and its acknowledgement of ours.
    using calling = await openIdle(open, 2_200, { event: "data" });
    await until(() => calling.left() <= 2_048, soon("the bound"));
    assert.equal(calling.left(), 2_048);
    await victim.next();
    using another = await victimOf(server);
    await another.next();
  });
});

describe("a proxy that goes on for ever", () => {
  it("rejecting one answer again and again is counted and logged once, and others get their changes", async () => {
    const { log, lines } = countingLog();
    let rejections = 0;
    const observer = { rejected: () => void rejections++ };
    await using server = await startTestServer({ options: { log, observer } });
    using victim = await victimOf(server);
    using bad = new Session(server);
    await bad.begin(types.cluster);
    await until(() => bad.nonces.length > 0, soon("an answer"));
    const [responseNonce = ""] = bad.nonces;
    const errorDetail = { code: 13, message: "x".repeat(10_000) };
    for (let at = 0; at < many; at++) {
      const sent = bad.send({ typeUrl: types.cluster, responseNonce, errorDetail });
      if (at % 100 === 0) await sent;
    }
    await victim.next();
    assert.equal(rejections, 1);
    assert.equal(lines.filter((text) => text === "rejected by the client").length, 1);
  });

  it("rejecting every answer gets one for each change, and delays no other client", async () => {
    await using server = await startTestServer();
    using victim = await victimOf(server);
    using bad = new Session(server);
    let answered = 0;
    bad.call.on("data", () => {
      const responseNonce = bad.nonces.at(-1) ?? "";
      void bad.send({ typeUrl: types.cluster, responseNonce, errorDetail: { code: 13, message: "no" } });
      answered++;
    });
    await bad.begin(types.cluster);
    await until(() => answered > 0, soon("an answer"));
    const changes = 10;
    for (let at = 0; at < changes; at++) await victim.next();
    assert.ok(answered <= changes + 1, `${answered} answers`);
  });

  it("rejecting every one of many answers gets ten lines in the log and one more in ten seconds", async () => {
    const { log, lines } = countingLog();
    let rejections = 0;
    const observer = { rejected: () => void rejections++ };
    const startedAt = performance.now();
    await using server = await startTestServer({ limits: { paceWaitMs: 10 }, options: { log, observer } });
    using victim = await victimOf(server);
    using bad = new Session(server);
    bad.call.on("data", () => {
      const responseNonce = bad.nonces.at(-1) ?? "";
      void bad.send({ typeUrl: types.cluster, responseNonce, errorDetail: { code: 13, message: "no" } });
    });
    await bad.begin(types.cluster);
    for (let at = 1; at <= 30; at++) {
      await until(() => rejections >= at, soon(`rejection ${at}`));
      await victim.next();
    }
    const logged = lines.filter((text) => text === "rejected by the client").length;
    const further = (performance.now() - startedAt) / 10_000;
    assert.ok(logged >= 10 && logged <= 10 + further, `${logged} lines`);
    const [, unlogged] = /^flotilla_xds_rejections_unlogged_total (\d+)$/m.exec(await server.metrics.text()) ?? [];
    assert.equal(Number(unlogged), rejections - logged);
  });

  it("rejecting one answer on each of many streams gets ten lines in the log and one more in ten seconds", async () => {
    const { log, lines } = countingLog();
    let rejections = 0;
    const observer = { rejected: () => void rejections++ };
    const startedAt = performance.now();
    await using server = await startTestServer({ options: { log, observer } });
    server.source.put(types.cluster, [{ name: "c", typeUrl: types.cluster, version: "v1", bytes: Buffer.alloc(10) }]);
    for (let at = 1; at <= 30; at++) {
      using bad = new Session(server);
      await bad.begin(types.cluster);
      await until(() => bad.nonces.length > 0, soon("an answer"));
      const [responseNonce = ""] = bad.nonces;
      await bad.send({ typeUrl: types.cluster, responseNonce, errorDetail: { code: 13, message: "no" } });
      await until(() => rejections === at, soon(`rejection ${at}`));
    }
    const logged = lines.filter((text) => text === "rejected by the client").length;
    const further = (performance.now() - startedAt) / 10_000;
    assert.ok(logged >= 10 && logged <= 10 + further, `${logged} lines`);
  });

  it("opening streams that are refused gets fifty lines in the log and one more each second", async () => {
    const { log, lines } = countingLog();
    const startedAt = performance.now();
    await using server = await startTestServer({ options: { log } });
    for (let at = 0; at < 200; at++) {
      using bad = new Session(server);
      // A first request without a node.
      await bad.send({ typeUrl: types.cluster });
      await until(() => bad.ends.length > 0, soon("the end"));
    }
    const logged = lines.filter((text) => text === "stream refused").length;
    const further = (performance.now() - startedAt) / 1_000;
    assert.ok(logged >= 50 && logged <= 50 + further, `${logged} lines`);
    const [, unlogged] = /^flotilla_xds_refusals_unlogged_total (\d+)$/m.exec(await server.metrics.text()) ?? [];
    assert.equal(Number(unlogged), 200 - logged);
  });

  it("subscribing and unsubscribing in a loop delays no other client, and leaves nothing", async () => {
    await using server = await startTestServer();
    using victim = await victimOf(server);
    using bad = new Session(server);
    await bad.begin(types.endpoint, ["a"]);
    const names = Array.from({ length: 100 }, (_, at) => `outbound|80||host-${at}.example.com`);
    let changes = 0;
    for (let at = 0; at < many; at++) {
      const sent = bad.send(
        at % 2 === 0
          ? { typeUrl: types.endpoint, resourceNamesSubscribe: names }
          : { typeUrl: types.endpoint, resourceNamesUnsubscribe: names },
      );
      if (at % 400 === 0) {
        await sent;
        await victim.next();
        changes++;
      }
    }
    assert.equal(changes, many / 400);
    assert.deepEqual(bad.ends, []);
  });

  it("sending messages that inflate a thousandfold is cut off", async () => {
    await using server = await startTestServer();
    using victim = await victimOf(server);
    const node = create(NodeSchema, { id: "sidecar~10.0.0.1~a.shop~shop.svc.cluster.local" });
    const error = { code: 13, message: "x".repeat(4_000_000) };
    const bomb = gzipSync(requestOf({ node, typeUrl: types.cluster, errorDetail: error }));
    const frame = Buffer.alloc(frameHeadBytes + bomb.length);
    frame[0] = 1;
    frame.writeUInt32BE(bomb.length, 1);
    bomb.copy(frame, frameHeadBytes);
    const session = connect(`http://${server.address}`);
    const stream = session.request({
      ...{ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" },
      "grpc-encoding": "gzip",
    });
    let status: string | undefined;
    const note = (headers: Readonly<Record<string, unknown>>) => {
      if (headers["grpc-status"] !== undefined) status = String(headers["grpc-status"]);
    };
    session.on("error", () => undefined);
    stream
      .on("error", () => undefined)
      .on("trailers", note)
      .on("response", note);
    stream.resume();
    for (let at = 0; at < 100; at++) stream.write(frame);
    await until(() => status !== undefined, soon("the end"));
    assert.equal(status, "8");
    await victim.next();
    session.destroy();
  });
});
