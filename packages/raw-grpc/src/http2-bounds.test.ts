/**
 * Floods of HTTP/2 on one connection, and the bound that ends each. All but the number of streams are defaults of Node and nghttp2: a Node that
 * has lost one fails here by name. Effects on other clients are tested at each port.
 */
import assert from "node:assert/strict";
import { constants } from "node:http2";
import { describe, it } from "node:test";
import { type FloodResult, http2Floods, openStreams, sendFlood } from "@flotilla/testkit";
import { listen } from "./server.fixture.ts";

const path = "/test.Test/Wait";

interface Ended {
  readonly result: FloodResult;
  /** Number of calls that reached their method. */
  readonly calls: number;
  /** Error of the server's side of the connection; undefined if the server closed none. */
  readonly error: string | undefined;
}

async function flood(name: string, maxStreamsPerConnection = 100_000): Promise<Ended> {
  const found = name === "streams" ? openStreams(1_000) : http2Floods.find((one) => one.name === name);
  assert.ok(found !== undefined, name);
  let [calls, error]: [number, string | undefined] = [0, undefined];
  await using server = await listen({
    methods: new Map([[path, () => void calls++]]),
    maxMessageBytes: 1_000,
    maxStreamsPerConnection,
    ...{ keepaliveMs: 600_000, keepaliveTimeoutMs: 1_000, maxAgeMs: undefined, maxAgeGraceMs: 50 },
  });
  server.listener.on("connection", (socket) =>
    socket.on("error", ({ message }) => {
      error = message;
    }),
  );
  const result = await sendFlood({ port: server.port, path, tls: false }, found, Promise.resolve());
  // Its side of the connection has ended then.
  await server[Symbol.asyncDispose]();
  return { result, calls, error };
}

describe("the bound of each flood of HTTP/2", { timeout: 120_000 }, () => {
  it("rapid reset: 1,000 resets and 33 a second more, of nghttp2", async () => {
    const { result, calls } = await flood("rapid reset");
    assert.equal(result.end, "closed");
    assert.ok(calls >= 1_000 && calls < 5_000, `${calls}`);
  });

  it("resets provoked: 1,000 invalid frames, of Node", async () => {
    const { result, calls, error } = await flood("resets that the server is provoked to send");
    assert.equal(result.end, "closed");
    assert.equal(error, "Too many invalid HTTP/2 frames");
    assert.equal(calls, 0);
  });

  it("windows beyond their maximum: the first ends the connection, of nghttp2", async () => {
    const { result, calls, error } = await flood("windows beyond their maximum");
    assert.equal(result.end, "closed");
    assert.equal(error, "Flow control error");
    assert.ok(calls <= 1, `${calls}`);
  });

  it("endless CONTINUATION: 8 frames for one header, of nghttp2", async () => {
    const { error } = await flood("endless CONTINUATION");
    assert.equal(error, "Too many CONTINUATION frames following a HEADER frame");
  });

  for (const name of ["PING", "SETTINGS"])
    it(`${name}: 1,000 answers that wait, of nghttp2`, async () => {
      const { error } = await flood(name);
      assert.equal(error, "Flooding was detected in this HTTP/2 session, and it must be closed");
    });

  it("HPACK bomb: 128 headers and 64 KiB of them in a request, of Node", async () => {
    const { result, calls } = await flood("HPACK bomb");
    assert.equal(result.end, "taken");
    assert.deepEqual(result.resets, { [constants.NGHTTP2_ENHANCE_YOUR_CALM]: 1_000 });
    assert.equal(calls, 0);
  });

  it("streams: maxStreamsPerConnection", async () => {
    const { result, calls } = await flood("streams", 10);
    const resets = { [constants.NGHTTP2_REFUSED_STREAM]: 990 };
    assert.deepEqual({ calls, resets: result.resets }, { calls: 10, resets });
  });
});
